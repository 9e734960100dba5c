"""Two items with one identity: which of them is kept, and what that makes of the stored one (rule P).

The later fetch wins, whatever the order in which the two arrive; of one fetch that was read again (reparse), the later
reading; of two fetches in the same millisecond, the one with the greater content hash. So the outcome depends on what
was fetched and asked for only, and a redelivered item changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from odradek.contracts import Item, ItemChanged

_ABSENT = object()


class Candidate(msgspec.Struct, frozen=True):
    """What a batch has to say about one item."""

    item: Item
    """The one fetched last."""
    first_seen_ms: int
    """When the earliest in the batch was fetched."""
    superseded: int = 0
    """Others in the batch with other content."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What is compared of a stored item."""

    first_seen_ms: int
    last_seen_ms: int
    content_hash: str
    run: int
    change: str
    changed: tuple[str, ...] = ()
    reparse: int = 0
    was: Mapping[str, Any] = field(default_factory=dict)
    """Values that the changed fields had before."""
    missing: bool = False
    """Its page was not there when it was asked for last."""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to the stored item."""

    change: str
    """The item's `change` afterwards: new, changed or unchanged."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the document to set, without `data`; empty: nothing is written."""
    replaces: bool = False
    """`data` is set too."""
    newest: bool = True
    """False: the store knows a later fetch, and has announced that one."""
    returns: bool = False
    """Its page is there again."""


def candidates(items: Iterable[Item]) -> dict[str, Candidate]:
    """One candidate for each identity, in the order in which they first come."""
    found: dict[str, Candidate] = {}
    for item in items:
        rival = found.get(item.id)
        found[item.id] = Candidate(item, item.fetched_at_ms) if rival is None else _later(rival, item)
    return found


def _later(rival: Candidate, item: Item) -> Candidate:
    other = rival.item
    differs = item.content_hash != other.content_hash
    wins = _rank(item) > _rank(other)
    return Candidate(
        item if wins else other,
        min(rival.first_seen_ms, item.fetched_at_ms),
        rival.superseded + differs,
    )


def _rank(item: Item) -> tuple[int, int, str]:
    return item.fetched_at_ms, item.reparse, item.content_hash


def judge(candidate: Candidate, stored: Stored) -> Verdict:
    """What a candidate makes of the item that is stored under its identity."""
    item = candidate.item
    fields: dict[str, Any] = {}
    if candidate.first_seen_ms < stored.first_seen_ms:
        fields["first_seen_ms"] = candidate.first_seen_ms
    offered = _rank(item)
    kept = (stored.last_seen_ms, stored.reparse, stored.content_hash)
    if offered <= kept:
        return Verdict(stored.change, fields, newest=offered == kept)
    fields |= {"last_seen_ms": item.fetched_at_ms, "run": item.run, "url": item.url, "meta": item.meta}
    if item.reparse or stored.reparse:
        fields["reparse"] = item.reparse
    same = item.content_hash == stored.content_hash
    change = _change(same_run=item.run == stored.run, same_content=same, before=stored.change)
    change = "new" if stored.gone else change
    if same:
        return Verdict(change, fields | {"change": change}, returns=stored.missing)
    fields |= {"change": change, "content_hash": item.content_hash}
    return Verdict(change, fields, replaces=True, returns=stored.missing)


def _change(*, same_run: bool, same_content: bool, before: str) -> str:
    if same_run and (same_content or before == "new"):
        return before
    return "unchanged" if same_content else "changed"


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the fields that differ, those that are gone included, in alphabetical order."""
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name, _ABSENT) != after.get(name, _ABSENT)))


def announcement(item: Item, change: str, changed: tuple[str, ...], was: Mapping[str, Any]) -> ItemChanged:
    """What outsiders are told: of a new item all its data, of a changed one the new values (null: gone) and the old.

    It follows from the stored item, so telling it again after a crash tells the same.
    """
    fields = item.data if change == "new" else {name: item.data.get(name) for name in changed}
    return ItemChanged(
        id=item.id, job=item.job, change=change, type=item.type, url=item.url, run=item.run, fields=fields,
        before={name: was[name] for name in changed if name in was} if change == "changed" else {},
        at_ms=item.fetched_at_ms,
    )  # fmt: skip
