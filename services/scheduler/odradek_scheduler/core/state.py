"""What lies in the tables: compact JSON arrays, each carrying the frontier offset of its last change."""

from typing import Any, TypeVar

import msgspec

from odradek.contracts import Hop

ACCEPTED = "accepted"
RETRY = "retry"
REOPENED = "reopened"
PENDING = "pending"


class Step(msgspec.Struct, array_like=True, frozen=True):
    """One transition of a URL: where in the log it stands, and what it is.

    `kind`: accepted, retry, reopened, or the outcome that ended the URL.
    """

    offset: int
    index: int
    kind: str
    due_ms: int = 0
    """Of a retry."""
    reason: str | None = None
    status: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its identity: (batch offset, index in the batch)."""
        return (self.offset, self.index)


class Seen(msgspec.Struct, array_like=True):
    """A URL that was ever accepted in a job and run, with every transition (rule A)."""

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

    @property
    def offset(self) -> int:
        """The frontier offset of its newest transition."""
        return self.steps[-1].offset if self.steps else -1


class Standing(msgspec.Struct, frozen=True):
    """What a list of transitions comes to."""

    state: str | None
    """None: never accepted; pending; or an outcome."""
    attempt: int = 0
    due_ms: int = 0
    reason: str | None = None


class Page(msgspec.Struct, array_like=True):
    """A page of pending URLs of one host: a hint where to look, `seen` is the truth (rule A)."""

    offset: int
    fps: list[str]


class Robots(msgspec.Struct, array_like=True):
    """What one origin's robots.txt said; `text` None: nothing is known and nothing is allowed."""

    fetched_at_ms: int
    expires_at_ms: int
    text: str | None
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
    latency_ms: float = 0.0
    robots: dict[str, Robots] = {}
    delay_ms: int | None = None
    """Set by a person."""
    concurrency: int | None = None
    blocked: bool = False
    kept: dict[str, int] = {}
    """Pages kept by job and run, where the job limits them."""


class Ledger(msgspec.Struct, array_like=True):
    """One job's ledger in one partition: all of it in ONE value, with the frontier offset it includes."""

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
    granted: int = 0
    returned: int = 0
    closed_at: int | None = None
    """Offset of the batch that skipped all open URLs; later facts are late."""
    closed_by: str | None = None
    """cancelled, expired or budget_pages."""

    @property
    def free_permits(self) -> int:
        """Permits that no URL holds."""
        return self.granted - self.returned - self.kept - len(self.holders)


class Job(msgspec.Struct, array_like=True):
    """A job as this partition knows it; the newest version wins."""

    offset: int
    version: int
    epoch: int
    wanted: str
    spec: dict[str, Any]
    run: int = 1
    at_ms: int = 0


class Share(msgspec.Struct, array_like=True):
    """What the home partition knows of another partition's permits."""

    offset: int = -1
    kept: int = 0
    returned: int = 0
    granted: int = 0
    wanted: int = 0


class Home(msgspec.Struct, array_like=True):
    """The home partition's fold of all reports on permits (rule F)."""

    offset: int
    max_pages: int
    shares: dict[int, Share]

    @property
    def kept(self) -> int:
        """Pages kept over the cluster, as far as reported."""
        return sum(share.kept for share in self.shares.values())

    @property
    def available(self) -> int:
        """Permits not granted to anybody."""
        return self.max_pages - sum(share.granted - share.returned for share in self.shares.values())


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


def standing(steps: list[Step], before: tuple[int, int] | None = None) -> Standing:
    """What transitions come to; `before`: only those that stand before this place in the log."""
    state: str | None = None
    attempt, due_ms, reason = 0, 0, None
    for step in steps:
        if before is not None and step.place >= before:
            continue
        if step.kind == ACCEPTED:
            state = PENDING
        elif step.kind in (RETRY, REOPENED):
            state, attempt, due_ms = PENDING, attempt + 1, step.due_ms
        else:
            state, reason = step.kind, step.reason
    return Standing(state, attempt, due_ms, reason)


def run_id(job: str, run: int) -> str:
    """A job and run as one word."""
    return f"{job}\0{run}"


def seen_key(job_run: str, fp: str) -> bytes:
    """Key in `seen`."""
    return f"{job_run}\0{fp}".encode()


def page_key(job_run: str, key: str, priority: int, offset: int) -> bytes:
    """Key in `backlog`: job, run, host, priority (higher first), batch offset."""
    return f"{job_run}\0{key}\0{100 - priority:03d}\0{offset:016x}".encode()


def split_page_key(key: bytes) -> tuple[str, str, int, int]:
    """(job and run, host, priority, batch offset) of a backlog key."""
    job, run, host, priority, offset = key.decode().split("\0")
    return run_id(job, int(run)), host, 100 - int(priority), int(offset, 16)


def ledger_key(job_run: str) -> bytes:
    """Key of a job's ledger."""
    return f"L\0{job_run}".encode()


def job_key(job: str) -> bytes:
    """Key of a job's specification."""
    return f"J\0{job}".encode()


def home_key(job_run: str) -> bytes:
    """Key of the home partition's record on permits."""
    return f"H\0{job_run}".encode()


def value_offset(table: str, value: bytes) -> int:
    """The frontier offset inside a value, for the rule that the newest wins in recovery."""
    if table == "seen":
        return unpack(Seen, value).offset
    head = value[1 : value.find(b",")] if b"," in value else value[1:-1]
    return int(head)
