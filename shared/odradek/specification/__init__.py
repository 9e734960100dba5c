"""The job specification: its fields, how it is read, and what is said when it is wrong."""

from odradek.specification.diagnosis import problems, validated
from odradek.specification.extraction import ExtractRule, FieldRule, ValueType
from odradek.specification.fetch import MAX_BODY_BYTES, Auth, Fetch
from odradek.specification.files import load_job_file, parse_yaml
from odradek.specification.model import Archive, JobSpecification, Politeness, Schedule, ScopeRules, Seed
from odradek.specification.parts import MAX_META_BYTES, MAX_META_DEPTH, meta_refusal
from odradek.specification.reading import reading_rules
from odradek.specification.redaction import redacted, redacted_url
from odradek.specification.webhook import Webhook, secret_name
from odradek.units import duration_s, size_bytes

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_META_BYTES",
    "MAX_META_DEPTH",
    "Archive",
    "Auth",
    "ExtractRule",
    "Fetch",
    "FieldRule",
    "JobSpecification",
    "Politeness",
    "Schedule",
    "ScopeRules",
    "Seed",
    "ValueType",
    "Webhook",
    "duration_s",
    "load_job_file",
    "meta_refusal",
    "parse_yaml",
    "problems",
    "reading_rules",
    "redacted",
    "redacted_url",
    "secret_name",
    "size_bytes",
    "validated",
]
