"""Facts of the frontier: all that ever changes its state, in one log per partition (design rule A).

A record on the topic `frontier` is a `Batch`: facts for one partition, judged one by one in order. The identity
of a fact is (offset of its batch, index in it). Times come from the facts, never from a clock.
Add a fact: also `Fact` below, its fold in the scheduler, a golden file, docs/topics.md (generated).
"""

from typing import Any

import msgspec

from odradek.contracts.codec import Message
from odradek.contracts.fetching import Hop
from odradek.contracts.outcomes import JobState, Outcome, Wanted
from odradek.contracts.runs import HostLoad, RunFigures


class Discovered(Message, frozen=True, tag_field="fact", tag=True):
    """A link, seed or redirect target that passed the filters; accepted once per job and run, else a duplicate."""

    job: str
    url: str
    fp: str
    key: str
    run: int = 1
    depth: int = 0
    priority: int = 50
    seed: bool = False
    via: str | None = None
    site: str | None = None
    """Handed on from the seed to all its descendants (see `FetchRequest.site`)."""
    chain: tuple[Hop, ...] = ()
    meta: dict[str, Any] | None = None
    lastmod: str | None = None
    """What a sitemap said of its last change, as it stood there."""


class Fetched(Message, frozen=True, tag_field="fact", tag=True):
    """An answer (or failure) reached a fetcher: frees the host and informs its pace, changes no URL's state."""

    job: str
    fp: str
    key: str
    run: int = 1
    attempt: int = msgspec.field(default=0, name="try")
    kind: str = "page"
    status: int | None = None
    reason: str | None = None
    """Failure class; null when an HTTP answer came; of `GIVEN_BACK`: it is to be sent again with the same try."""
    duration_ms: float = 0.0
    retry_after_s: float | None = None
    size_bytes: int = 0
    sent_at_ms: int = 0
    """Of the request it answers, so that an old answer does not free the host of a newer request; 0: not told."""
    at_ms: int = 0


class Links(Message, frozen=True):
    """Links of one page that the parser dropped before Kafka; those it forwarded are counted where they arrive."""

    found: int = 0
    """Sum of the two below."""
    duplicates: int = 0
    refused: dict[str, int] = {}
    """By refusal reason."""


class PageVersion(Message, frozen=True):
    """What tells a page apart from what it was before; of jobs with a schedule."""

    rules: str
    """Short hash of what the job says of reading pages: with other rules the page is read again."""
    digest: str | None = None
    """Of the body; null: it was cut."""
    etag: str | None = None
    last_modified: str | None = None


class Parsed(Message, frozen=True, tag_field="fact", tag=True):
    """The outcome of one try; the first terminal one ends the URL, whatever comes later is late.

    Also sent by whoever dead-letters a request or page (failed: poison), and by the scheduler to itself for what
    it skips at dispatch (robots, budget_host, trap, host_blocked), so that every outcome has one way in.
    """

    job: str
    fp: str
    key: str
    outcome: Outcome
    run: int = 1
    attempt: int = msgspec.field(default=0, name="try")
    reason: str | None = None
    status: int | None = None
    kept: bool = False
    """A final 2xx with an accepted content type that is kept: counts for `max_pages`."""
    retry_in_ms: int | None = None
    """Failed, and due again so long after `at_ms`; null: terminal."""
    links: Links = Links()
    items: int = 0
    malformed: int = 0
    """Records that went to dead-letters."""
    size_bytes: int = 0
    content: str | None = None
    """Short hash of what a reader sees; only of pages whose URL has a shape (`odradek.shapes`)."""
    version: PageVersion | None = None
    fetched_at_ms: int = 0
    """When the answer came, as its `Fetched` says, which a crash may have kept from being sent; 0: there was none."""
    at_ms: int = 0


class RobotsFetched(Message, frozen=True, tag_field="fact", tag=True):
    """A robots.txt answer for one origin (scheme + host + port), RFC 9309; also frees the host."""

    key: str
    origin: str
    """Such as `https://books.example` (default port left out)."""
    status: int | None = None
    """Final status after redirects; null when no answer came."""
    reason: str | None = None
    text: str | None = None
    """At most 500 KiB, decoded as UTF-8 with replacement; null unless 2xx."""
    duration_ms: float = 0.0
    retry_after_s: float | None = None
    max_age_s: int | None = None
    fp: str = ""
    attempt: int = msgspec.field(default=0, name="try")
    lease_until_ms: int = 0
    """Of the request it answers, so that an old answer does not free the host of a newer request; 0: not told."""
    at_ms: int = 0


class JobChanged(Message, frozen=True, tag_field="fact", tag=True):
    """A job's specification or wanted state, in every partition's own log."""

    job: str
    version: int
    epoch: int
    wanted: Wanted = "running"
    spec: dict[str, Any] | None = None
    """The validated specification, secrets still as `${env:NAME}`; null: unchanged."""
    run: int = 1
    asked_run: int = 0
    """A person wants this run to begin at once."""
    created_at_ms: int = 0
    """When the job was accepted; 0: not told, then the first fact's own time."""
    at_ms: int = 0


class JobPurged(Message, frozen=True, tag_field="fact", tag=True):
    """A job was deleted: no fact of it counts any more, and what is known of it goes, bit by bit."""

    job: str
    at_ms: int = 0


class HostChanged(Message, frozen=True, tag_field="fact", tag=True):
    """A person overrides what the fleet does to a host; null fields go back to what was computed."""

    key: str
    delay_ms: int | None = None
    concurrency: int | None = None
    blocked: bool = False
    clear_back_off: bool = False
    at_ms: int = 0


class RetryAsked(Message, frozen=True, tag_field="fact", tag=True):
    """Every failed URL of the job in this partition is open again, with the next try.

    Asked for a large partition in ranges of fingerprints, so that no batch takes long.
    """

    job: str
    epoch: int
    reason: str | None = None
    """Only failures of this reason; null: all."""
    first: str = ""
    """Only fingerprints not below this one."""
    end: str = ""
    """Only fingerprints below this one; empty: all others."""
    run: int = 1
    at_ms: int = 0


class PatternReleased(Message, frozen=True, tag_field="fact", tag=True):
    """A person lets a pattern go on: it is never quarantined again in this run, and its trapped URLs are open again.

    Asked for a large partition in ranges of fingerprints; what concerns the pattern itself is told with each.
    """

    job: str
    key: str
    """Politeness key of the pattern's host."""
    pattern: str
    """As `odradek.shapes` writes it, such as `shop.example/list/{n}?page`."""
    epoch: int = 0
    first: str = ""
    """Only fingerprints not below this one."""
    end: str = ""
    """Only fingerprints below this one; empty: all others."""
    run: int = 1
    at_ms: int = 0


class SitemapsListed(Message, frozen=True, tag_field="fact", tag=True):
    """A job has come upon an origin whose robots.txt names sitemaps: they are handed to it, once for each run."""

    job: str
    key: str
    """Politeness key of the origin."""
    origin: str
    sitemaps: tuple[str, ...] = ()
    """Absolute URLs."""
    site: str | None = None
    """As of the URL that led to the origin (see `FetchRequest.site`)."""
    run: int = 1


class Reserve(Message, frozen=True, tag_field="fact", tag=True):
    """The scheduler wants permits for these URLs (rule F); consuming it makes them holders while permits last."""

    job: str
    fps: tuple[str, ...]
    run: int = 1
    version: int = 0
    """Of the job that brought a limit where there was none: these are the URLs under way, and all become holders; 0:
    an ordinary wish."""


class PermitsReported(Message, frozen=True, tag_field="fact", tag=True):
    """One partition's state to the job's home partition: absolute, the newest offset wins."""

    job: str
    partition: int
    offset: int
    kept: int
    returned: int
    wanted: int
    """Permits it could use in all: kept + open URLs; equal to kept when it needs none."""
    run: int = 1
    held: int = 0
    """URLs that hold a permit; more than there are permits when a limit came while they were under way."""
    version: int = 0
    """Newest version of the job whose limit this accounts for, URLs under way included; 0: none yet."""


class Grant(Message, frozen=True, tag_field="fact", tag=True):
    """Permits granted to this partition in all so far; the largest wins."""

    job: str
    granted: int
    run: int = 1


class SkipRest(Message, frozen=True, tag_field="fact", tag=True):
    """The job has kept `max_pages` pages: all open URLs are skipped (budget_pages). Only the home partition says so."""

    job: str
    run: int = 1
    version: int = 0
    """Of the job whose limit was reached: a newer one with a higher limit wins; 0: not told."""
    max_pages: int = 0
    """That limit."""
    at_ms: int = 0


class Merged(Message, frozen=True, tag_field="fact", tag=True):
    """Small backlog pages of one host become one, kept under this batch's offset."""

    job: str
    key: str
    sources: tuple[int, ...]
    """Batch offsets of the pages that end here."""
    priority: int = 50
    run: int = 1


class RunDue(Message, frozen=True, tag_field="fact", tag=True):
    """A recurring job's next run begins; told to every partition by the job's home, and heard once."""

    job: str
    run: int
    due_ms: int = 0
    """When it was to begin; earlier than `at_ms` when it was missed."""
    deadline_ms: int = 0
    """When its results are to be fresh; 0: there is no such time."""
    at_ms: int = 0


class RunEnded(Message, frozen=True, tag_field="fact", tag=True):
    """A run has ended: told by the job's home partition to itself, so that its next owner knows."""

    job: str
    run: int
    state: JobState = "complete"
    figures: RunFigures = RunFigures()
    at_ms: int = 0


class Renewed(Message, frozen=True, tag_field="fact", tag=True):
    """The URLs of one range of fingerprints that the run before knew are accepted in this run.

    A partition tells it to itself, step by step; which range a step is follows from what the run began with.
    """

    job: str
    run: int
    step: int = 0
    """From 0."""
    longest_ms: int = 0
    """A page that stays the same is visited at least so often; 0: every page is, in every run."""
    at_ms: int = 0


class LoadsReported(Message, frozen=True, tag_field="fact", tag=True):
    """Where a run takes longest in one partition, told to the job's home: absolute, the newest offset wins."""

    job: str
    run: int
    partition: int
    offset: int
    hosts: tuple[HostLoad, ...] = ()
    """Those that need longest, at most a few."""
    at_ms: int = 0


class Ticked(Message, frozen=True, tag_field="fact", tag=True):
    """Time as a fact, where a decision of the fold needs it."""

    at_ms: int


Fact = (
    Discovered | Fetched | Parsed | RobotsFetched | JobChanged | HostChanged | RetryAsked | Reserve | PermitsReported
    | Grant | SkipRest | Merged | JobPurged | RunDue | Ticked | PatternReleased | SitemapsListed | RunEnded | Renewed
    | LoadsReported
)  # fmt: skip


class Batch(Message, frozen=True):
    """One record on `frontier`: facts of one partition in order."""

    facts: tuple[Fact, ...]
