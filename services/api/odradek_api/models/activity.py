"""How a job went so far."""

from typing import Literal

from odradek_api.models.frontier import Host
from odradek_api.models.shape import Shape


class Trend(Shape):
    """How a job went so far."""

    source: Literal["reports", "events"]
    """Reports count URLs, events count tries."""
    columns: list[str]
    points: list[list[int]]
    """Running totals, oldest first."""


class LatencyWindow(Shape):
    """Fetches of one span of time."""

    at_ms: int
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class Latency(Shape):
    """How long the newest fetches took."""

    sample: int
    """Fetches looked at; at most 1,000."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    windows: list[LatencyWindow]
    """Oldest first."""


class JobHost(Shape):
    """A host as one job knows it."""

    key: str
    tries: int
    failed_tries: int
    host: Host | None
    """What the fleet knows of it; null: nothing any more."""


class JobHosts(Shape):
    """The hosts a job fetched most from."""

    data: list[JobHost]
