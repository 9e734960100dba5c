"""What the parser makes of a page: items, and the reason beside what it could not use."""

from typing import Any

from odradek.contracts.codec import Instant, Message


class Item(Message, frozen=True):
    """One extracted record. Topic `items`, key `id`."""

    id: str
    """job id + `:` + hash(type, key): the same record from a redelivered page is the same item."""
    job: str
    type: str
    url: str
    data: dict[str, Any]
    run: int = 1
    meta: dict[str, Any] = {}
    key: tuple[str, ...] = ()
    """Values that identify it: the rule's `key` fields, else URL and position."""
    fetched_at_ms: Instant = 0
    content_hash: str = ""
    """Of `data`; what decides whether a stored item changed."""
    reparse: int = 0
    """Number of the newest reparse its parser knew of: of two readings of one fetch the later rules win."""


class PageSeen(Message, frozen=True):
    """A page of a recurring job that was asked for again and not read: it is unchanged, or not there any more.

    Topic `items`, key `page_seen_key`: what it says concerns all items of the page.
    """

    job: str
    url: str
    """Of its items."""
    run: int = 1
    missing: bool = False
    """It answered 404 or 410; else its items stand as they are stored."""
    at_ms: Instant = 0


def page_seen_key(job: str, fp: str) -> str:
    """Key of a `PageSeen` in `items`; no item's id has an `@`."""
    return f"{job}:@{fp}"


class ItemChanged(Message, frozen=True):
    """An item is new, changed or gone. Topic `changes`, key item id."""

    id: str
    job: str
    change: str
    type: str
    url: str
    run: int = 1
    fields: dict[str, Any] = {}
    """Of a new item all, of a changed one the new values of what differs (null: not there any more)."""
    before: dict[str, Any] = {}
    """Of a changed item, the old values of the same fields; of one that is gone, all it had."""
    at_ms: int = 0


class Question(Message, frozen=True):
    """Asked of the partition that owns a host; read-only, answered within 2 s or not at all. Topic `questions`."""

    id: str
    kind: str
    """`explain`, `urls`, `recount` or `quarantine`."""
    job: str
    url: str | None = None
    fp: str | None = None
    key: str | None = None
    state: str | None = None
    reason: str | None = None
    limit: int = 100
    after: str | None = None
    run: int = 1
    at_ms: int = 0


class Answer(Message, frozen=True):
    """The answer of one partition. Topic `answers`."""

    id: str
    partition: int
    body: dict[str, Any]
    at_ms: int = 0
