"""The records of a page as messages: items, and dead letters for what is malformed."""

from dataclasses import dataclass

from odradek.contracts import JobRecord, PageMeta, encode
from odradek.kafka.deadletter import dead_record
from odradek.kafka.records import Record, Send
from odradek.topics import ITEMS
from odradek_parser.core.facts import SERVICE
from odradek_parser.core.items import MAX_ITEM_BYTES, item, record_bytes
from odradek_parser.core.parsing import Reading
from odradek_parser.core.rules import Record as Extracted


@dataclass(frozen=True, slots=True)
class RecordSends:
    """What the records of one page became."""

    sends: list[Send]
    items: int
    malformed: int


def record_sends(record: Record, meta: PageMeta, job: JobRecord, reading: Reading, now_ms: int) -> RecordSends:
    """The messages of all records of a page; the same page read by the same rules gives the same messages."""
    sends: list[Send] = []
    malformed = 0
    shared = job.spec.get("meta") or {}
    kept_meta = {**shared, **meta.request.meta} if meta.request.meta else shared
    for found in reading.records:
        send = _item(found, meta, job, reading, kept_meta)
        if send is None:
            malformed += 1
            send = _dead_letter(record, found, meta, reading, now_ms)
        sends.append(send)
    return RecordSends(sends, len(sends) - malformed, malformed)


def _item(
    found: Extracted, meta: PageMeta, job: JobRecord, reading: Reading, kept_meta: dict[str, object]
) -> Send | None:
    """The message of a record; None when it is malformed."""
    if found.problems:
        return None
    request = meta.request
    made = item(
        job=request.job,
        run=request.run,
        kind=found.type,
        url=reading.url,
        key=found.key or (reading.url, str(found.position)),
        data=found.data,
        meta=kept_meta,
        fetched_at_ms=meta.fetched_at_ms,
        reparse=job.reparse.number if job.reparse is not None else 0,
    )
    value = encode(made)
    return Send(ITEMS, made.id, value) if len(value) <= MAX_ITEM_BYTES else None


def _dead_letter(record: Record, found: Extracted, meta: PageMeta, reading: Reading, now_ms: int) -> Send:
    value = record_bytes(found.type, reading.url, found.position, found.data)
    too_large = not found.problems
    return dead_record(
        record,
        value=None if too_large else value,
        reason="too_large" if too_large else "malformed_record",
        error=f"the record has {len(value):,} bytes" if too_large else "; ".join(found.problems),
        service=SERVICE,
        place=f"{found.type}-{found.position}",
        job=meta.request.job,
        url=reading.url,
        at_ms=now_ms,
    )
