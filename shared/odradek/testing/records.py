"""Builders of records and messages: a valid one, of which a test says only what matters to it."""

from typing import Any

from odradek.contracts import PAGE_HEADER, Discovered, FetchRequest, PageMeta, Parsed, encode
from odradek.kafka.records import Record
from odradek.topics import DEFAULT_PREFIX, PAGES, SCHEDULED

JOB = "job-1"
HOST = "books.example"
URL = f"https://{HOST}/catalogue/1.html"
FINGERPRINT = "0123456789abcdef0123456789abcdef"
NOW_MS = 1_790_000_000_000


def a_request(**changes: Any) -> FetchRequest:
    """A request for a page of books.example, sent now, with a lease of a minute."""
    fields: dict[str, Any] = {
        "job": JOB,
        "url": URL,
        "fp": FINGERPRINT,
        "key": HOST,
        "spec_version": 1,
        "sent_at_ms": NOW_MS,
        "lease_until_ms": NOW_MS + 60_000,
    }
    return FetchRequest(**(fields | changes))


def a_page(**changes: Any) -> PageMeta:
    """A fetched HTML page; `a_page(status=301, outcome="redirected", location=…)` is a redirect."""
    fields: dict[str, Any] = {
        "request": a_request(),
        "outcome": "fetched",
        "fetched_at_ms": NOW_MS,
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "charset": "utf-8",
    }
    return PageMeta(**(fields | changes))


def a_discovered(**changes: Any) -> Discovered:
    """A link to a page of books.example."""
    fields: dict[str, Any] = {"job": JOB, "url": URL, "fp": FINGERPRINT, "key": HOST}
    return Discovered(**(fields | changes))


def a_parsed(**changes: Any) -> Parsed:
    """A page that was fetched and kept."""
    fields: dict[str, Any] = {
        "job": JOB,
        "fp": FINGERPRINT,
        "key": HOST,
        "outcome": "fetched",
        "status": 200,
        "kept": True,
        "at_ms": NOW_MS,
    }
    return Parsed(**(fields | changes))


def a_record(value: bytes | None = b"{}", **changes: Any) -> Record:
    """A record at offset 0 of partition 0 of the requests' topic."""
    fields: dict[str, Any] = {
        "topic": DEFAULT_PREFIX + SCHEDULED,
        "partition": 0,
        "offset": 0,
        "key": FINGERPRINT.encode(),
        "value": value,
        "timestamp_ms": NOW_MS,
    }
    return Record(**(fields | changes))


def a_page_record(body: bytes | None, page: PageMeta | None = None, **changes: Any) -> Record:
    """A record of the pages' topic: body and metadata."""
    meta = encode(page or a_page(size_bytes=len(body or b"")))
    fields: dict[str, Any] = {"topic": DEFAULT_PREFIX + PAGES, "headers": ((PAGE_HEADER, meta),)}
    return a_record(body, **(fields | changes))
