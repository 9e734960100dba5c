"""URLs and hosts."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from odradek.shapes import MAX_SHAPE
from odradek.units import Duration
from odradek_api.models.shape import Shape


class Explanation(Shape):
    """Why a URL was or would be fetched, skipped or refused."""

    url: str
    canonical: str | None
    """The key under which it is known; null: it is no URL that can be crawled."""
    fingerprint: str | None
    host: str | None
    key: str | None
    """Politeness key: what shares a delay."""
    refusal: str | None
    """Why a link to it would be refused; null: it would be accepted."""
    sentence: str
    partition: int | None
    """Frontier partition that owns it."""
    answered: bool
    """False: the owner of the partition did not answer within 2 s, and `frontier` is unknown."""
    frontier: dict[str, Any] | None
    """What its owner knows: seen before, outcome, robots line, host delay, when it is due."""


class Host(Shape):
    """What is known of a host (a politeness key)."""

    key: str
    delay_ms: int
    concurrency: int
    in_flight: int
    pending_pages: int
    """Pages of its backlog; a page holds many URLs."""
    back_off_until_ms: int | None
    error_streak: int
    blocked: bool
    robots: dict[str, str]
    """By origin."""
    fetches: int
    failures: int
    mean_latency_ms: float | None
    last_fetched_at_ms: int | None
    at_ms: int


class Hosts(Shape):
    """A page of hosts, by key."""

    data: list[Host]
    next_cursor: str | None


class HostOverride(BaseModel):
    """What a person wants of a host, in the whole fleet; null: as computed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    delay: Duration | None = Field(default=None, examples=["5s"])
    """Between two fetches."""
    concurrency: int | None = Field(default=None, ge=1, le=1000)
    blocked: bool = False
    """Nothing is fetched; its URLs are skipped with reason host_blocked."""
    clear_back_off: bool = False
    """Go on at once after a back-off."""


class HostChanged(Shape):
    """The override is on its way to the owner of the host."""

    key: str


class TrapPattern(Shape):
    """A pattern of URLs of one job."""

    key: str
    """Politeness key of its host."""
    pattern: str
    """Host, path with numbers and identifiers replaced, names of query parameters; or a URL that stands for itself."""
    pages: int
    """Read so far."""
    new_share: float | None
    """Of its last pages, the share that showed something new; null: none was read."""
    trapped: int
    """URLs skipped as traps."""
    released: bool
    """A person lets it go on."""
    quarantined: str | None
    """Why its URLs are held back now, in one sentence; null: they are not."""


class Quarantine(Shape):
    """Patterns in quarantine, released ones, and those with URLs skipped as traps."""

    data: list[TrapPattern]
    next_cursor: str | None = None
    """Always null: there is one page, the longest ones first."""
    silent: list[int]
    """Partitions that did not answer within 2 s; what they know is missing."""
    more: bool
    """There are more than were asked for."""


class ReleaseRequest(BaseModel):
    """Which pattern is to go on."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(min_length=1, max_length=MAX_SHAPE)
