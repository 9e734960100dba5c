"""One frontier partition: the fold of its log and what may be sent now. Signatures first; the bodies follow."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from odradek.contracts import Answer, Batch, Fact, FetchRequest, HostReport, LogEvent, Progress, Question, Recount
from odradek_scheduler.core.tables import Tables, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a partition; from settings, never part of the fold."""

    unparsed: int = 2000
    """Fetched and not yet parsed: nothing is sent above this."""
    visits: int = 2000
    """URLs looked at in one call of `dispatch`, so that it stays short."""
    user_agent: str = "odradek"
    """Product token that robots.txt is asked for."""


class ToPartition(NamedTuple):
    """A fact for a frontier partition."""

    partition: int
    fact: Fact


class Dispatched(NamedTuple):
    """What to send now. Order: facts, requests and events may travel together."""

    requests: tuple[FetchRequest, ...] = ()
    facts: tuple[ToPartition, ...] = ()
    events: tuple[LogEvent, ...] = ()


class Partition:
    """Life: construct → `load` (after recovery) → fold… (replay) → `catch_up_to(end)` → fold… → `release` → dispatch."""

    def __init__(self, partition: int, partitions: int, tables: Tables, limits: Limits) -> None: ...

    def load(self) -> None:
        """Read the ledgers from the recovered tables. Cheap; the index of pages is built by `release`."""

    def fold(self, batch: Batch, offset: int) -> tuple[Write, ...]:
        """What the batch changes. The caller applies ALL writes in order, before anything else is called."""
        raise NotImplementedError

    @property
    def position(self) -> int:
        """All batches below this offset are folded in; 0 before any."""
        raise NotImplementedError

    def resume_at(self, position: int) -> None:
        """The offset where the fold goes on: the group's committed offset."""

    def catch_up_to(self, end: int) -> None:
        """Frontier end offset taken at take-over: nothing is dispatched, and reports say `recovering`, before."""

    @property
    def recovering(self) -> bool:
        """True below the end offset of `catch_up_to`."""
        raise NotImplementedError

    def release(self, now_ms: int) -> None:
        """The take-over barrier is behind us: build the memory from the tables; from now on `dispatch` sends."""

    @property
    def dispatching(self) -> bool:
        """True after `release`, once the partition has caught up."""
        raise NotImplementedError

    @property
    def outstanding(self) -> int:
        """Requests sent and not yet answered by `Fetched` nor past their lease."""
        raise NotImplementedError

    def dispatch(self, now_ms: int, credits: int) -> Dispatched:
        """What to send now; `credits`: how many requests may be sent in this call (total minus outstanding)."""
        raise NotImplementedError

    def wake_at_ms(self, now_ms: int) -> int | None:
        """When `dispatch` has something to do without a new fact; None: never."""
        raise NotImplementedError

    def longest_lease_ms(self) -> int:
        """Of the jobs known: what the take-over barrier must wait at most."""
        raise NotImplementedError

    def progress(self, now_ms: int) -> tuple[Progress, ...]:
        """Reports worth sending now (changed, or their position has moved on)."""
        raise NotImplementedError

    def recount(self, job: str, now_ms: int = 0) -> Recount | None:
        """Count `seen` afresh and keep it for later reports; None while recovering."""
        raise NotImplementedError

    def host_reports(self, now_ms: int) -> tuple[HostReport, ...]:
        """Hosts whose report has changed since the last call."""
        raise NotImplementedError

    def answer(self, question: Question, now_ms: int) -> Answer:
        """`explain`, `urls` (pages of `seen` by state) or `recount`; read-only."""
        raise NotImplementedError

    def jobs(self) -> Iterable[str]:
        """Jobs known here."""
        raise NotImplementedError
