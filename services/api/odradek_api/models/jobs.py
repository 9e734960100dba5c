"""Jobs, their ledger, their seeds and their webhooks."""

from typing import Literal

from pydantic import Field

from odradek.contracts import JobState
from odradek_api.models.runs import Run
from odradek_api.models.shape import Shape


class Job(Shape):
    """Where a job stands, from counters: answered as fast for ten URLs as for ten million."""

    job_id: str = Field(examples=["books-1f2e3d4c"])
    name: str | None
    owner: str | None
    """Name of the API key that made it; null: there were no keys."""
    state: JobState
    run: int
    """Of a recurring job, from 1."""
    version: int
    """Of the job's record; grows with every change."""
    pages: int
    """Pages kept."""
    items: int
    pending: int
    in_flight: int
    failed: int
    skipped: dict[str, int]
    """By reason."""
    refused: dict[str, int]
    """By reason."""
    links_found: int
    duplicates: int
    sitemaps: dict[str, int]
    """Sitemaps of the job: accepted, pending and outcomes; beside the counters, and waited for. Empty: none."""
    pages_per_s: float
    eta_s: float | None
    """Seconds until what is known now is finished at this pace; null: it does not move, or it is over."""
    limiting_reason: str | None
    """What holds the crawl back, in a sentence."""
    max_pages: int | None
    created_at_ms: int
    """Milliseconds since 1970."""
    reached_at_ms: int | None
    """When the state that ended it was reached."""
    next_run_at_ms: int | None
    """Of a recurring job, when its next run begins; null: one is under way, or none will."""
    deadline_ms: int | None
    """Of a job with `fresh_by`: of the run under way, else of the next."""
    expected_end_ms: int | None
    """When that run will have ended, as far as is known."""
    missed: str | None
    """Why that run will miss its deadline, and what would help."""
    last_run: Run | None
    """The last one that ended."""


class Jobs(Shape):
    """A page of jobs."""

    data: list[Job]
    next_cursor: str | None


class Counted(Shape):
    """URLs by state."""

    accepted: int
    pending: int
    fetched: int
    not_modified: int
    redirected: int
    skipped: int
    failed: int


class Audit(Counted):
    """The ledger and its proof.

    accepted = pending + fetched + not_modified + redirected + skipped + failed;
    links_found = accepted + duplicates + refused.
    """

    in_flight: int
    """A share of pending."""
    links_found: int
    duplicates: int
    refused: int
    late: int
    """Outcomes of URLs that had one already, or whose job was over; they change nothing."""
    recount: Counted
    """The second count, made apart from the ledger by going through every URL ever seen."""
    balanced: bool
    """Both equations hold and both counts agree, in every partition."""
    reasons: dict[str, dict[str, int]]
    """Of what was skipped, failed and refused."""


class RejectedSeed(Shape):
    """A seed that was not taken."""

    line: int
    """From 1."""
    url: str
    reason: str


class SeedVerdicts(Shape):
    """What became of the seeds: received + rejected_total = all."""

    received: int
    rejected: list[RejectedSeed]
    """The first 1,000."""
    rejected_total: int


class Attempt(Shape):
    """One try to tell a webhook."""

    at_ms: int
    duration_ms: float
    status: int | None
    """What the receiver answered; null: nothing."""
    error: str | None
    """What went wrong; null: it was delivered."""


class Delivery(Shape):
    """A change of state that a webhook is told."""

    id: str
    """Sent as `webhook-id`, the same in every attempt."""
    url: str
    state: JobState
    """What the job changed to."""
    run: int
    status: Literal["pending", "delivered", "given_up"]
    signed: bool
    attempts: list[Attempt]
    """Oldest first, the last 20."""
    next_at_ms: int | None
    """When it is tried next; null: never again."""
    created_at_ms: int
    body: str


class Deliveries(Shape):
    """What the webhooks of a job were told, newest first."""

    data: list[Delivery]
    next_cursor: None


class Purged(Shape):
    """What a purge did."""

    job_id: str
    purged: bool
    """False: cancelled, but its last fetches are still on their way; ask again."""
    items_deleted: int
