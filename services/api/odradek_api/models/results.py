"""Items, crawl events and dead letters."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from odradek_api.models.shape import Listed, Shape


class Change(Shape):
    """What became of an item."""

    id: str
    """Of the item."""
    job_id: str
    change: str
    """new, changed or gone."""
    type: str
    url: str
    run: int
    fields: dict[str, Any]
    """Of a new item all, of a changed one the new values of those that differ."""
    before: dict[str, Any]
    """Of a changed item the old values of the same fields, of one that is gone all it had."""
    at_ms: int


class Changes(Shape):
    """A piece of the changes of a job's items, in the order in which each item changed."""

    data: list[Change]
    next_cursor: str
    """Also at the end: ask with it again later."""
    at_end: bool
    """There was no more when this was asked."""
    lost: int
    """Changes, of all jobs, that the topic kept no longer when this was asked; 0 unless the cursor is days old."""


class Events(Listed):
    """Crawl events in the fields of the Elastic Common Schema, newest first."""

    total: int


class Facet(Shape):
    """How many events have this value."""

    value: str | int
    count: int


class Moment(Shape):
    """How many events fall into the moment that begins then."""

    at: str
    count: int


class ExportLink(Shape):
    """Where one file can be had without a key."""

    href: str
    """Path and query, with a ticket that opens exactly this, once."""
    expires_at_ms: int


class ItemCount(Shape):
    """How many there are."""

    total: int


class Slow(Facet):
    """A host and how long its fetches took on average; of the 1,000 hosts with the most events."""

    mean_ms: float


class Facets(Shape):
    """Counts of events; the most frequent 20 values of each."""

    total: int
    outcome: list[Facet]
    status: list[Facet]
    host: list[Facet]
    reason: list[Facet]
    action: list[Facet]
    every_s: int
    """Seconds between two moments of `time`: as short as gives at most 60 of them."""
    time: list[Moment]
    slowest_hosts: list[Slow]


class DeadLetter(Shape):
    """A message that could not be processed."""

    id: str
    reason: str
    error: str
    service: str | None
    job_id: str | None
    url: str | None
    at: str | None
    source: dict[str, Any] | None
    """Topic, partition, offset and key it came from."""
    size_bytes: int
    preview: str | None
    """The first 500 bytes."""
    replayed_at: str | None


class DeadLetters(Shape):
    """A page of dead letters, by id."""

    data: list[DeadLetter]
    next_cursor: str | None


class DeadLetterReason(Shape):
    """A reason and how many dead letters have it."""

    reason: str
    count: int
    replayed: int
    """Of these, sent again."""


class DeadLetterReasons(Shape):
    """Reasons of dead letters, the most frequent first."""

    data: list[DeadLetterReason]


class ReplayRequest(BaseModel):
    """Which dead letters to send again; all that is given must hold, and something must be given."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    ids: list[str] | None = Field(default=None, min_length=1, max_length=1000)
    reason: str | None = None
    job: str | None = None


class Refused(Shape):
    """A dead letter that was not sent again, and why."""

    id: str
    reason: str


class Replayed(Shape):
    """What became of a replay."""

    replayed: int
    refused: list[Refused]
    """The first 100."""
    refused_total: int
