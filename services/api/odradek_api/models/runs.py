"""Runs of recurring jobs, and how fresh what they brought is."""

from odradek.contracts import JobState
from odradek_api.models.shape import Shape


class Run(Shape):
    """One run of a recurring job, with its ledger over all partitions."""

    run: int
    state: JobState
    due_at_ms: int
    """When it was to begin; milliseconds since 1970, as all instants here."""
    began_at_ms: int
    late_ms: int
    """So much later than it was due it began: it was missed, or the run before had not ended."""
    ended_at_ms: int | None
    """Null: it is under way."""
    duration_ms: int | None
    deadline_ms: int | None
    """When its results were to be fresh."""
    met: bool | None
    """Whether it ended before its deadline; null: it had none, or has not ended."""
    accepted: int
    """URLs taken over from the run before, and found since."""
    fetched: int
    not_modified: int
    """Not changed since they were read last: nothing was parsed."""
    redirected: int
    skipped: int
    failed: int
    pages: int
    """Kept, those that had not changed included."""
    items: int
    """Read in this run; those of unchanged pages stand as they are."""
    bytes: int


class HostLoad(Shape):
    """What a run has to do on one host."""

    host: str
    urls: int
    open: int
    """Of these, without an outcome."""
    gap_ms: int
    """From one request to the next, as politely as the job asks."""
    delay_ms: int
    concurrency: int
    left_ms: int
    """How long what is open takes at that pace."""


class Runs(Shape):
    """The runs of a job, newest first; the last 20."""

    data: list[Run]
    next_run: int | None
    """Null: one is under way, or the job does not recur."""
    next_run_at_ms: int | None
    deadline_ms: int | None
    """Of the run under way, else of the next."""
    expected_end_ms: int | None
    """When that run will have ended, as far as is known."""
    missed: str | None
    """Why it will miss its deadline, and what would help; null: it will not, as far as is known."""
    slowest_hosts: list[HostLoad]
    """Where it takes longest."""


class HostFreshness(Shape):
    """Items from one host."""

    host: str
    items: int
    fresh: int
    share: float
    oldest_seen: str | None
    """ISO 8601."""


class OldItem(Shape):
    """An item that was not seen for long."""

    id: str
    url: str
    last_seen: str


class Freshness(Shape):
    """How much of what a job has stored was seen of late; items that are gone do not count."""

    within_s: float
    items: int
    fresh: int
    """Seen within that time."""
    share: float | None
    """Null: there are no items."""
    oldest_age_s: float | None
    """Since the item was seen that was not for longest."""
    oldest: list[OldItem]
    """The ten that were not seen for longest."""
    hosts: list[HostFreshness]
    """Those with the oldest items first, at most 1,000."""
