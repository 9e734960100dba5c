"""What lies in the tables: compact JSON arrays whose first element is the frontier offset of their last change."""

from typing import Any, Final, TypeVar

import msgspec

from odradek.contracts import Hop

ACCEPTED: Final = "accepted"
RETRY: Final = "retry"
REOPENED: Final = "reopened"
PENDING: Final = "pending"
PURGED: Final = "purged"
"""What is wanted of a job whose rows end; no fact of it counts any more."""
SATED: Final = "budget_pages"
"""Why a ledger is closed that a higher limit opens again."""


class Step(msgspec.Struct, array_like=True, frozen=True):
    """One transition of a URL: where in the log it stands, and what it is."""

    offset: int
    index: int
    kind: str
    """accepted, retry, reopened, or the outcome that ended the URL."""
    due_ms: int = 0
    """Of a retry."""
    reason: str | None = None
    status: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its identity: (batch offset, index in the batch)."""
        return (self.offset, self.index)


class Visit(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a page of a recurring job from the last time that its site gave it."""

    rules: str
    """Those it was read with (`PageVersion.rules`)."""
    at_ms: int
    """When it was asked for last, and was there, changed or not, or was missing."""
    changed_ms: int
    """When it was read last because it had changed."""
    calm: int = 0
    """How often of late it had not changed when it was visited; a change takes away two."""
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    missing: bool = False
    """It was not there then; the rest is what it was before."""


class Seen(msgspec.Struct, array_like=True):
    """A URL that was ever accepted in a job and run, with every transition (rule A)."""

    offset: int
    url: str
    key: str
    depth: int
    priority: int
    seed: bool
    steps: list[Step]
    via: str | None = None
    site: str | None = None
    chain: tuple[Hop, ...] = ()
    meta: dict[str, Any] | None = None
    lastmod: str | None = None
    """What a sitemap said of it."""
    visit: Visit | None = None
    """Of a recurring job; carried over from run to run."""

    def record(self, step: Step) -> None:
        """Put a transition in its place; what already stands there is the same transition, told before."""
        steps = self.steps
        if steps and steps[-1].place >= step.place:
            self.steps = [
                *(each for each in steps if each.place < step.place),
                step,
                *(each for each in steps if each.place > step.place),
            ]
        else:
            steps.append(step)
        self.offset = self.steps[-1].offset


class Standing(msgspec.Struct, frozen=True):
    """What a list of transitions comes to."""

    state: str | None
    """None: never accepted; pending; or an outcome."""
    attempt: int = 0
    due_ms: int = 0
    reason: str | None = None
    status: int | None = None


def standing(steps: list[Step], before: tuple[int, int] | None = None) -> Standing:
    """What transitions come to; `before`: only those that stand before this place in the log."""
    state: str | None = None
    attempt, due_ms = 0, 0
    last: Step | None = None
    for step in steps:
        if before is not None and step.place >= before:
            break
        last = step
        if step.kind == ACCEPTED:
            state = PENDING
        elif step.kind in (RETRY, REOPENED):
            state, attempt, due_ms = PENDING, attempt + 1, step.due_ms
        else:
            state = step.kind
    if last is None:
        return Standing(None)
    return Standing(state, attempt, due_ms, last.reason, last.status)


class Page(msgspec.Struct, array_like=True):
    """A page of pending URLs of one host: a hint where to look, `seen` is the truth (rule A)."""

    offset: int
    fps: list[str]


class Robots(msgspec.Struct, array_like=True):
    """What one origin's robots.txt said; `text` None: nothing is known and nothing is allowed."""

    offset: int = -1
    expires_at_ms: int = 0
    text: str | None = None
    fetched_at_ms: int = 0
    status: int | None = None
    failures: int = 0
    """Attempts in a row without an answer that counts."""
    reason: str | None = None


class Host(msgspec.Struct, array_like=True):
    """What is known of a politeness key."""

    offset: int = -1
    last_at_ms: int = 0
    """When the newest answer came."""
    back_off_until_ms: int = 0
    streak: int = 0
    """Answers in a row that ask for rest, or failures to get one."""
    fetches: int = 0
    failures: int = 0
    latency_ms: float | None = None
    """Moving average."""
    delay_ms: int | None = None
    """Set by a person."""
    concurrency: int | None = None
    """Set by a person."""
    blocked: bool = False


class HostShare(msgspec.Struct, array_like=True):
    """What one host has of a job and run that limits its pages by host: all that decides on it in ONE value."""

    offset: int = -1
    kept: int = 0
    holders: list[str] = []
    """Fingerprints of URLs that may still become kept pages."""


class Ledger(msgspec.Struct, array_like=True):
    """One job's ledger in one partition: all of it in ONE value, with the frontier offset it includes (rule A)."""

    offset: int = -1
    accepted: int = 0
    pending: int = 0
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
    items: int = 0
    malformed: int = 0
    bytes: int = 0
    reasons: dict[str, dict[str, int]] = {}
    holders: list[str] = []
    """Fingerprints that hold a permit."""
    granted: int = 0
    returned: int = 0
    closed_at: int | None = None
    """Offset of the batch that skipped all open URLs; later facts are late."""
    closed_by: str | None = None
    """cancelled, expired or budget_pages."""
    host_limits: list[tuple[int, int | None]] = []
    """Every `max_pages_per_host` there was, with the offset at which it was set."""
    page_limits: list[tuple[int, int, int | None]] = []
    """Every `max_pages` there was: the offset at which it was set, the job's version, and the limit."""
    closed_for: tuple[int, int] = (0, 0)
    """Of closed_by budget_pages: the job's version whose limit was reached, and that limit."""
    reopenings: list[tuple[int, int]] = []
    """Former closings by a budget: the offset of each, and the offset at which a higher limit ended it."""
    limit_version: int = 0
    """The newest version of the job that told a `max_pages`."""
    unarmed: int = 0
    """The version that set one where there was none, until the URLs under way then hold permits; 0: they do."""

    by_host: bool = False
    """URLs are counted by host, since the first one: the job has a deadline."""

    def host_limit(self, offset: int) -> int | None:
        """`max_pages_per_host` as a batch at this offset finds it."""
        return next((limit for since, limit in reversed(self.host_limits) if since < offset), None)

    def outgrown(self, version: int, max_pages: int, offset: int) -> bool:
        """True if a newer version of the job, told at or before this offset, has a higher limit than this one."""
        set_at = next((each for each in reversed(self.page_limits) if each[0] <= offset), None)
        return set_at is not None and 0 < version < set_at[1] and (set_at[2] is None or set_at[2] > max_pages)

    @property
    def sated(self) -> bool:
        """True while it is closed because `max_pages` was reached: a higher limit opens it again."""
        return self.closed_by == SATED

    @property
    def free_permits(self) -> int:
        """Permits that no URL holds."""
        return self.granted - self.returned - self.kept - len(self.holders)


class Share(msgspec.Struct, array_like=True):
    """What the home partition knows of another partition's permits."""

    offset: int = -2
    kept: int = 0
    returned: int = 0
    wanted: int = 0
    granted: int = 0
    held: int = 0
    version: int = 0
    """The newest version of the job whose limit it has told to account for."""


class Home(msgspec.Struct, array_like=True):
    """The home partition's fold of all reports on permits (rule F)."""

    offset: int = -1
    version: int = -1
    max_pages: int | None = None
    shares: dict[int, Share] = {}
    since: int = 0
    """The version that set a limit where there was none: nothing is granted before all partitions account for it."""

    @property
    def kept(self) -> int:
        """Pages kept over the cluster, as far as reported."""
        return sum(share.kept for share in self.shares.values())


S = TypeVar("S")
_encode = msgspec.json.Encoder().encode
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def pack(value: msgspec.Struct) -> bytes:
    """A state value as bytes."""
    return _encode(value)


def unpack(kind: type[S], value: bytes) -> S:
    """A state value from bytes."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    found: S = decoder.decode(value)
    return found
