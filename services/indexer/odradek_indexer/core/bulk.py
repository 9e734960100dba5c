"""Crawl events as lines of a bulk request, and what the answer says of each.

An event travels untouched: its bytes from Kafka are the line; only its id is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from odradek.contracts import decoded_by
from odradek_indexer.core.refusals import Fate, fate_in_search

MAX_BULK_BYTES = 8 * 1024 * 1024


class _Event(msgspec.Struct):
    id: str


class _Named(msgspec.Struct):
    """The two fields without which an event cannot be stored; all others are passed over."""

    event: _Event
    timestamp: str = msgspec.field(name="@timestamp")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One event that was not stored, by its place in the request."""

    place: int
    fate: Fate
    error: str


_named = msgspec.json.Decoder(_Named)
_encode = msgspec.json.Encoder().encode


def bulk_lines(value: bytes) -> bytes:
    """The two lines that create one event.

    Raises:
        msgspec.DecodeError: not JSON, nested too deeply, or an event without id or `@timestamp`.
    """
    name = decoded_by(_named, value).event.id
    if b"\n" in value or b"\r" in value:
        value = msgspec.json.format(value, indent=-1)
    return b'{"create":{"_id":%b}}\n%b\n' % (_encode(name), value)


def bulks(lines: Sequence[bytes], max_bytes: int = MAX_BULK_BYTES) -> Iterator[Sequence[bytes]]:
    """The lines in their order, cut where a request would pass `max_bytes`; a single larger one goes alone."""
    start, size = 0, 0
    for place, line in enumerate(lines):
        if size and size + len(line) > max_bytes:
            yield lines[start:place]
            start, size = place, 0
        size += len(line)
    if start < len(lines):
        yield lines[start:]


def refusals(answer: dict[str, Any]) -> list[Refusal]:
    """What was not stored and was not there already."""
    if not answer.get("errors"):
        return []
    found = []
    for place, entry in enumerate(answer["items"]):
        created = entry["create"]
        fate = fate_in_search(created["status"])
        if fate in (Fate.again, Fate.hopeless):
            found.append(Refusal(place, fate, _sentence(created)))
    return found


def conflicts(answer: dict[str, Any]) -> int:
    """How many were there already."""
    return sum(entry["create"]["status"] == 409 for entry in answer["items"]) if answer.get("errors") else 0  # noqa: PLR2004  (HTTP's own number)


def _sentence(created: dict[str, Any]) -> str:
    error = created.get("error")
    if isinstance(error, dict):
        return f"{error.get('type')}: {error.get('reason')}"
    return str(error or f"status {created['status']}")
