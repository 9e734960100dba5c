"""What can't be processed: the untouched message, with the reason in headers (topic `dead-letters`)."""

import time

from odradek.kafka.records import Poison, Record, Send
from odradek.topics import DEAD_LETTERS


def dead_letter(poison: Poison, service: str, at_ms: int | None = None) -> Send:
    """The message that keeps a poison record; the same record is always the same dead letter."""
    return dead_record(
        poison.record,
        value=poison.record.value,
        reason=poison.reason,
        error=poison.error,
        service=service,
        at_ms=at_ms,
    )


def dead_record(  # noqa: PLR0913  (the headers of a dead letter are what they are)
    source: Record,
    *,
    value: bytes | None,
    reason: str,
    error: str,
    service: str,
    place: str = "",
    job: str = "",
    url: str = "",
    at_ms: int | None = None,
) -> Send:
    """A dead letter that came from `source`; `place` (rule + position) tells records of one page apart."""
    at_ms = int(time.time() * 1000) if at_ms is None else at_ms
    key = f"{source.topic}-{source.partition}-{source.offset}" + (f"-{place}" if place else "")
    headers = {
        "reason": reason,
        "error": error[:2000],
        "service": service,
        "source_topic": source.topic,
        "source_partition": str(source.partition),
        "source_offset": str(source.offset),
        "source_key": (source.key or b"").decode(errors="replace"),
        "at_ms": str(at_ms),
        "job": job,
        "url": url,
    }
    page = source.header("page")
    kept = (("page", page),) if page is not None and not place else ()
    return Send(DEAD_LETTERS, key, value, headers=(*((k, v.encode()) for k, v in headers.items() if v), *kept))
