"""What is wanted of a job and how far it got: topics `jobs` and `progress`."""

from typing import Any

from odradek.contracts.codec import Message
from odradek.contracts.outcomes import JobState, Wanted
from odradek.contracts.runs import RunFigures, RunPlan


class Reparse(Message, frozen=True):
    """A job's pages are to be read again with its rules of now: what lies in `pages` between these offsets."""

    number: int
    """Counts from 1; a newer one takes the place of one that is under way."""
    starts: tuple[int, ...]
    """First offset of each partition when it was asked for."""
    ends: tuple[int, ...]
    """Offset of each partition at which reading ends."""
    asked_at_ms: int = 0


class SeedReceipt(Message, frozen=True):
    """How far a submission of seeds with an idempotency key got: what a repeat need not send again."""

    key: str
    lines: int = 0
    """So many lines (from 1, rejected ones included) are judged, and those taken are in Kafka."""
    digest: str = ""
    """Of those lines, so that another list with the same key is noticed."""
    done: bool = False
    """The list ended there."""


class JobRecord(Message, frozen=True):
    """Specification, wanted state and epoch; key job id, newest wins. Topic `jobs`; the gateway alone writes it."""

    job: str
    spec: dict[str, Any]
    """Validated specification, secrets as `${env:NAME}`."""
    version: int = 1
    """Grows by one with each change of this record."""
    epoch: int = 1
    """Raised by seeds and retry-failed: an announcement of an older epoch is void."""
    wanted: Wanted = "running"
    seeding: tuple[str, ...] = ()
    """Submissions of seeds not yet acknowledged; while there is one the job cannot complete."""
    seeded: bool = False
    """At least one seed was accepted by the gateway."""
    run: int = 1
    """As far as the gateway has heard; the scheduler begins runs."""
    asked_run: int = 0
    """A person wants this run of a recurring job to begin at once, without waiting until it is due."""
    created_at_ms: int = 0
    changed_at_ms: int = 0
    idempotency_key: str | None = None
    owner: str | None = None
    """Name of the API key that made it."""
    receipts: tuple[SeedReceipt, ...] = ()
    """Of the newest submissions of seeds that had an idempotency key."""
    reparse: Reparse | None = None
    """The newest one asked for; null: none ever was."""


class Counters(Message, frozen=True):
    """The ledger of one job in one partition, or a sum of such (rule C).

    accepted = pending + fetched + not_modified + redirected + skipped + failed
    links_found = accepted + duplicates + refused
    """

    accepted: int = 0
    fetched: int = 0
    not_modified: int = 0
    redirected: int = 0
    skipped: int = 0
    failed: int = 0
    links_found: int = 0
    duplicates: int = 0
    refused: int = 0
    late: int = 0
    retries: int = 0
    kept: int = 0
    """Pages kept, the `pages` of a summary."""
    items: int = 0
    malformed: int = 0
    bytes: int = 0
    pending: int = 0
    """Counted on its own by the fold, so that the first equation can fail."""
    reasons: dict[str, dict[str, int]] = {}
    """{"skipped": {reason: n}, "failed": {…}, "refused": {…}}"""


class Recount(Message, frozen=True):
    """An independent count of `seen` entries by state, made once the partition had caught up."""

    offset: int
    accepted: int = 0
    pending: int = 0
    fetched: int = 0
    not_modified: int = 0
    redirected: int = 0
    skipped: int = 0
    failed: int = 0
    at_ms: int = 0


OUTCOME_FIELDS = ("fetched", "not_modified", "redirected", "skipped", "failed")
COUNTED_FIELDS = ("accepted", "pending", *OUTCOME_FIELDS)
"""What the ledger and the recount both say."""


def counts_agree(ledger: Counters, recount: Recount | None) -> bool:
    """The independent count says what the ledger says; where nothing was accepted none is needed (rule C)."""
    if recount is None:
        return ledger.accepted == 0
    return all(getattr(ledger, name) == getattr(recount, name) for name in COUNTED_FIELDS)


class Progress(Message, frozen=True):
    """One partition's report on one job; key `job:partition`. Leaves only after a flush that covers its offset."""

    job: str
    partition: int
    offset: int
    """The frontier position: all batches below it are folded in (of whatever job)."""
    epoch: int
    counters: Counters
    run: int = 1
    version: int = 0
    """Newest job record this partition has folded."""
    in_flight: int = 0
    closed: str | None = None
    """What has skipped all that was open: cancelled, expired or budget_pages; null: nothing has."""
    recovering: bool = False
    """Still replaying: the tables may be ahead of the ledger."""
    recount: Recount | None = None
    sitemaps: dict[str, int] = {}
    """Sitemaps of the job here: accepted, pending and outcomes; outside the counters, and waited for all the same."""
    hosts_open: int = 0
    """Host queues with something pending."""
    hosts_waiting: int = 0
    """Of these, waiting for a delay or back-off."""
    next_due_ms: int | None = None
    """Earliest instant at which something can be sent; null: now, or nothing."""
    limiting: str | None = None
    """What holds this partition back, in one sentence; null: nothing."""
    renewing: bool = False
    """Known URLs of the run before are still to be taken over."""
    plan: RunPlan | None = None
    """Of a job with a schedule, from its home partition."""
    at_ms: int = 0


class Reached(Message, frozen=True):
    """A state that a job has reached; key job id alone, written by the owner of its home partition."""

    job: str
    state: JobState
    epoch: int
    """Void when the job's record has a newer epoch."""
    run: int = 1
    started_at_ms: int | None = None
    at_ms: int = 0
    indexed_at_ms: int | None = None
    """When also the indexer had passed the ends of `items` and `logs`; `complete` is announced then."""
    figures: RunFigures | None = None


class HostReport(Message, frozen=True):
    """What is known of a host; key politeness key. Topic `hosts`."""

    key: str
    delay_ms: int = 0
    concurrency: int = 1
    in_flight: int = 0
    pending_pages: int = 0
    back_off_until_ms: int | None = None
    error_streak: int = 0
    """Answers that asked for rest and failures to get one, less the successes since; above 0 after a back-off it gets
    one request at a time."""
    crawl_delay_ms: int = 0
    """What robots.txt asks for; 0: nothing."""
    clamped: str | None = None
    """What of it a job's `max_delay` has clamped, in one sentence; null: nothing."""
    blocked: bool = False
    robots: dict[str, str] = {}
    """Origin to `allowed`, `rules`, `denied` (with reason)."""
    fetches: int = 0
    failures: int = 0
    mean_latency_ms: float | None = None
    last_fetched_at_ms: int | None = None
    at_ms: int = 0


class WebhookAttempt(Message, frozen=True):
    """One try to tell a webhook."""

    at_ms: int
    duration_ms: float = 0.0
    status: int | None = None
    """What the receiver answered; null: nothing."""
    error: str | None = None
    """What went wrong, in a sentence; null: it was delivered."""


class WebhookDelivery(Message, frozen=True):
    """A change of a job's state that a webhook is told; key delivery id. Topic `webhooks`; the gateway writes it."""

    id: str
    """Computed from job, run, version of the record, state and URL: the same change is the same delivery."""
    job: str
    url: str
    body: str
    """JSON text, the same bytes in every attempt."""
    state: JobState
    """What the job changed to."""
    run: int = 1
    epoch: int = 0
    status: str = "pending"
    """pending, delivered or given_up."""
    attempts: tuple[WebhookAttempt, ...] = ()
    next_at_ms: int | None = None
    """When it is tried next; null: never again."""
    secret: str | None = None
    """The reference `${env:NAME}` of the key it is signed with; null: not signed."""
    created_at_ms: int = 0
