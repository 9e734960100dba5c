"""Which folders jobs may name for their archives: the gateway says no early, the indexer in the end."""

from pathlib import Path

S3 = "s3://"


def archive_refusal(where: str, archive_dir: Path) -> str | None:
    """Why a job's archive may not lie there, in one sentence; None: it may."""
    if where.startswith(S3):
        return None if where.removeprefix(S3).strip("/") else f"{where} names no bucket; write s3://bucket/prefix"
    if "://" in where:
        return f"{where} is neither a folder nor s3://bucket/prefix"
    outer = archive_dir.resolve()
    if (outer / where).resolve().is_relative_to(outer):
        return None
    return f"{where} lies outside the folder that ODRADEK_ARCHIVE_DIR allows; name one relative to it"
