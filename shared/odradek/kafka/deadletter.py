"""What can't be processed: the untouched message, with the reason in headers (topic `dead-letters`)."""

import structlog

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER
from odradek.kafka.records import Poison, Record, Send
from odradek.topics import DEAD_LETTERS, MAX_MESSAGE_BYTES

log = structlog.get_logger()

MAX_VALUE_BYTES = MAX_MESSAGE_BYTES - 256 * 1024
"""The largest value that goes out: what is left beside key, headers and framing."""
KEPT_OF_TOO_LARGE = 64 * 1024


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
    at_ms = now_ms() if at_ms is None else at_ms
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
    page = source.header(PAGE_HEADER)
    kept = ((PAGE_HEADER, page),) if page is not None and not place else ()
    return Send(DEAD_LETTERS, key, value, headers=(*((k, v.encode()) for k, v in headers.items() if v), *kept))


def within_limit(send: Send, source: Record, service: str) -> Send:
    """The message itself, or, if Kafka would refuse its size for ever, a dead letter with its first 64 KiB."""
    size = len(send.value or b"")
    if size <= MAX_VALUE_BYTES:
        return send
    error = f"{size} bytes for the topic {send.topic}, more than {MAX_VALUE_BYTES}"
    log.error("message_too_large", topic=send.topic, key=send.key, error=error)
    return dead_record(
        source,
        value=(send.value or b"")[:KEPT_OF_TOO_LARGE],
        reason="too_large",
        error=error,
        service=service,
        place=f"{send.topic}-{send.key}",
    )
