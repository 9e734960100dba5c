"""The job specification: its fields, how it is read, and what is said when it is wrong."""

from odradek.specification.extraction import ExtractRule, FieldRule
from odradek.specification.files import load_job_file, parse_yaml, problems, validated
from odradek.specification.model import Fetch, JobSpecification, Politeness, ScopeRules, Seed
from odradek.specification.units import duration_s, size_bytes

__all__ = [
    "ExtractRule",
    "Fetch",
    "FieldRule",
    "JobSpecification",
    "Politeness",
    "ScopeRules",
    "Seed",
    "duration_s",
    "load_job_file",
    "parse_yaml",
    "problems",
    "size_bytes",
    "validated",
]
