"""Dead letters in MongoDB: collection `dead_letters`, `_id` = key of the message, so the same poison is one document.

    {_id, reason, error, service, job_id, url, at, source: {topic, partition, offset, key}, letter: {partition, offset},
     page?, value, size_bytes}

`value` is the untouched message as binary; null when the document would pass MongoDB's 16 MiB: replay then reads it
from the topic `dead-letters` at `letter`.
"""

import re
from typing import Any

import msgspec
from bson.datetime_ms import DatetimeMS

from odradek.contracts import LATEST_MS, PAGE_HEADER, decoded_by
from odradek.kafka.records import Record

DEAD_LETTERS = "dead_letters"
"""Name of the collection."""

MAX_VALUE_BYTES = 15 * 1024 * 1024 + 512 * 1024

_DIGITS = re.compile(r"\d{1,18}\Z", re.ASCII)
"""Of a number that fits into 64 bits."""


class _Request(msgspec.Struct):
    job: str | None = None
    url: str | None = None


class _Page(msgspec.Struct):
    request: _Request = msgspec.field(default_factory=_Request)


_request = msgspec.json.Decoder(_Request)
_page = msgspec.json.Decoder(_Page)


def dead_letter_document(record: Record) -> dict[str, Any]:
    """The document of one record of the topic `dead-letters`."""
    words = {name: value.decode(errors="replace") for name, value in record.headers if name != PAGE_HEADER}
    value, page = record.value, record.header(PAGE_HEADER)
    size = len(value or b"")
    about = _about(page, value)
    document = {
        "_id": (record.key or b"").decode(errors="replace") or f"{record.topic}-{record.partition}-{record.offset}",
        "reason": words.get("reason", "unknown"),
        "error": words.get("error", ""),
        "service": words.get("service"),
        "job_id": words.get("job") or about.job,
        "url": words.get("url") or about.url,
        "at": DatetimeMS(min(max(_number(words.get("at_ms"), record.timestamp_ms), 0), LATEST_MS)),
        "source": {
            "topic": words.get("source_topic"),
            "partition": _number(words.get("source_partition"), None),
            "offset": _number(words.get("source_offset"), None),
            "key": words.get("source_key"),
        },
        "letter": {"partition": record.partition, "offset": record.offset},
        "value": value if size <= MAX_VALUE_BYTES else None,
        "size_bytes": size,
    }
    return document if page is None else document | {"page": page}


def dead_letter_matches(
    *, reason: str | None = None, job: str | None = None, after: str | None = None
) -> dict[str, Any]:
    """A filter for listing; page through by sorting on `_id` and passing the last one as `after`."""
    wanted: dict[str, Any] = {"reason": reason, "job_id": job, "_id": None if after is None else {"$gt": after}}
    return {name: value for name, value in wanted.items() if value is not None}


def _about(page: bytes | None, value: bytes | None) -> _Request:
    """Job and URL as the message itself tells them, if it does: a page's metadata, a request, an item."""
    try:
        if page is not None:
            return decoded_by(_page, page).request
        return decoded_by(_request, value or b"{}")
    except msgspec.MsgspecError:
        return _Request()


def _number(text: str | None, otherwise: Any) -> Any:
    return int(text) if text is not None and _DIGITS.match(text) else otherwise
