"""The shapes of answers, for the API documents and for every program that reads them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from odradek.contracts import JobState
from odradek.units import Duration


class Shape(BaseModel):
    """An answer."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Problem(Shape):
    """An error, RFC 9457."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """What is wrong and what to do, in a sentence."""
    instance: str
    """Path of the request."""
    errors: list[dict[str, str]] | None = None
    """Each wrong field: {field, message}."""
    request_id: str | None = None
    """As in the header X-Request-ID; also in the log and on every message that the request caused."""
    retry_after_s: int | None = None
    """Seconds to wait before asking again."""


class Job(Shape):
    """Where a job stands, from counters: answered as fast for ten URLs as for ten million."""

    job_id: str = Field(examples=["books-1f2e3d4c"])
    name: str | None
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


class Jobs(Shape):
    """A page of jobs."""

    data: list[Job]
    next_cursor: str | None


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


class Listed(Shape):
    """A page of a list."""

    data: list[dict[str, Any]]
    next_cursor: str | None


class Events(Listed):
    """Crawl events in the fields of the Elastic Common Schema, newest first."""

    total: int


class Facet(Shape):
    """How many events have this value."""

    value: str | int
    count: int


class Moment(Shape):
    """How many events fall into the minute that begins then."""

    at: str | int
    count: int


class Facets(Shape):
    """Counts of events; the most frequent 20 values of each."""

    total: int
    outcome: list[Facet]
    status: list[Facet]
    host: list[Facet]
    reason: list[Facet]
    action: list[Facet]
    time: list[Moment]


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


class FeedError(Shape):
    """Why Scrapy Cluster's request was not carried out."""

    message: str
    cause: str | None = None


class Fed(Shape):
    """Scrapy Cluster's wrapper around every reply."""

    status: Literal["SUCCESS", "FAILURE"]
    data: dict[str, Any] | None
    """The reply; null for a crawl request."""
    error: FeedError | None


class FeedState(Shape):
    """State of the service, in Scrapy Cluster's words."""

    kafka_connected: bool
    redis_connected: bool
    uptime_sec: int
    my_id: str
    node_health: Literal["GREEN", "YELLOW", "RED"]


class PollAsked(BaseModel):
    """Which reply to poll for."""

    model_config = ConfigDict(extra="forbid")

    poll_id: str = Field(min_length=1, max_length=100)


class Health(Shape):
    """State of the gateway."""

    status: Literal["ok", "waiting"]
    detail: str | None = None
