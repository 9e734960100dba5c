"""Which folders jobs may name for their archives: the gateway says no early, the indexer in the end."""

import re
from importlib.util import find_spec
from pathlib import Path

S3 = "s3://"
MAX_NAME_BYTES = 255
"""What every file system takes as the name of one folder."""

_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()=+@,-]+)*/?\Z", re.ASCII)
"""Bucket names as S3 has them; a prefix of the characters that are safe in every store."""


def archive_refusal(where: str, archive_dir: Path) -> str | None:
    """Why a job's archive may not lie there, in one sentence; None: it may."""
    if where.startswith(S3):
        named = _BUCKET.match(where) is not None and not {".", ".."} & set(where.split("/"))
        if not named:
            return f"{where!r} names no bucket and prefix; write s3://bucket/prefix"
        return None if find_spec("obstore") else f"{where!r} needs the extra s3: pip install 'odradek[s3]'"
    if "://" in where:
        return f"{where!r} is neither a folder nor s3://bucket/prefix"
    if not where.isprintable() or len(where.encode()) > MAX_NAME_BYTES:
        return f"{where[:80]!r} cannot name a folder; take printable characters, at most {MAX_NAME_BYTES} bytes of them"
    outer = archive_dir.resolve()
    if (outer / where).resolve().is_relative_to(outer):
        return None
    return f"{where!r} lies outside the folder that ODRADEK_ARCHIVE_DIR allows; name one relative to it"
