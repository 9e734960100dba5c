"""Bytecode of the children: six processes that compile their libraries at every start spend 10 s of CPU on it."""

import sys
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path

import structlog

from odradek.engines.kafka_jars import cache_folder


def bytecode_env(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for child processes; where this person keeps bytecode from being written, it goes to our cache.

    That is so in many containers (`PYTHONDONTWRITEBYTECODE`). Nothing changes where the libraries were compiled when
    they were installed.
    """
    env = dict(environ)
    compiled = Path(cache_from_source(str(structlog.__file__))).exists()
    if "PYTHONDONTWRITEBYTECODE" in env and "PYTHONPYCACHEPREFIX" not in env and not compiled:
        del env["PYTHONDONTWRITEBYTECODE"]
        env["PYTHONPYCACHEPREFIX"] = str(cache_folder() / f"bytecode-{sys.implementation.cache_tag}")
    return env
