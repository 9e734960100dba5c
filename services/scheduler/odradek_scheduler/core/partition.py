"""One frontier partition: the fold of its log, and what may be sent now. The shell around it does all I/O."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.contracts import (
    Answer,
    Batch,
    FetchRequest,
    HostReport,
    LogEvent,
    Progress,
    Question,
    Reached,
    Recount,
    Ticked,
)
from odradek_scheduler.core.building import building
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.dispatch import Dispatcher
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.expiring import Expiries
from odradek_scheduler.core.figures import Figures, counting
from odradek_scheduler.core.fold import Fold
from odradek_scheduler.core.keys import run_id, split_run_id
from odradek_scheduler.core.learning import UNPARSED_LEASE_MS, Learning
from odradek_scheduler.core.loading import Loading
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.merging import merges
from odradek_scheduler.core.permits import PermitDesk
from odradek_scheduler.core.questions import Questions
from odradek_scheduler.core.recounts import Recounting
from odradek_scheduler.core.renewing import Renewals
from odradek_scheduler.core.reports import RECOVERING, Reports
from odradek_scheduler.core.starting import Starts
from odradek_scheduler.core.tables import Tables, Write

__all__ = ["Dispatched", "Limits", "Partition", "ToPartition"]

_SHORTEST_LEASE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a partition; from settings, never part of the fold."""

    unparsed: int = 2000
    """Fetched and not yet parsed: nothing is sent above this."""
    visits: int = 2000
    """URLs looked at in one call of `dispatch`, so that it stays short."""
    user_agent: str = "odradek"
    """Product token that robots.txt is asked for."""
    unparsed_lease_ms: int = UNPARSED_LEASE_MS
    """How long a fetched page may wait to be parsed, beyond its request's lease, before it is fetched again."""
    urls_kept: int = 65_536
    """Fingerprints kept of backlog pages that are worked through: with a million hosts, each has such a page."""


class Dispatched(NamedTuple):
    """What to send now; all of it may travel together."""

    requests: tuple[FetchRequest, ...] = ()
    facts: tuple[ToPartition, ...] = ()
    events: tuple[LogEvent, ...] = ()


class Partition:
    """Life: construct, `load` (after recovery), `resume_at`, `catch_up_to`, fold, `release`, fold and dispatch."""

    def __init__(self, partition: int, partitions: int, tables: Tables, limits: Limits) -> None:
        self._partition, self._partitions = partition, partitions
        self._tables, self._limits = tables, limits
        self._cache = Cache(tables)
        self._reports = Reports(partition, self._cache, tables)
        self._questions = Questions(partition, self._cache, tables)
        self._position = 0
        self._target = 0
        self._released = False
        self._learns = False
        self._ends: dict[str, Reached] = {}
        """The newest that was announced of each job."""
        self.told: list[ToPartition] = []
        """Facts that follow from what was folded: the caller sends them before it commits, and clears the list."""
        self._forget()

    def _forget(self) -> None:
        self._memory = Memory(self._cache, self._tables, self._limits.user_agent)
        self._learning = Learning(self._memory, self._limits.unparsed_lease_ms)
        self._dispatcher = Dispatcher(self._memory, self._tables, self._limits.urls_kept)
        self._desk = PermitDesk(self._memory, self._partition, self._partitions)
        self._expiries = Expiries(self._memory, self._partition, self._partitions)
        self._renewals = Renewals(self._memory, self._partition)
        self._starts = Starts(self._memory, self._partition, self._partitions)
        place = (self._partition, self._partitions)
        self._loading = Loading(self._memory, self._tables, self._dispatcher.agenda, place)

    # ---- take-over

    def load(self) -> None:
        """Read jobs and budgets from the recovered tables. The index of pages is built by `release`."""
        self._cache.load()
        self._reports.load()

    def resume_at(self, position: int) -> None:
        """Where the fold goes on: at the group's committed offset, also if others have folded what changed nothing."""
        self._position = max(self._position, position)

    def catch_up_to(self, end: int) -> None:
        """Frontier end offset taken at take-over: nothing is dispatched, and reports say `recovering`, before."""
        self._target = max(self._target, end)

    def release(self, now_ms: int) -> None:
        """The take-over barrier is behind us: build the memory from the tables; from now on `dispatch` sends."""
        for _ in self.releasing(now_ms):
            pass

    def releasing(self, now_ms: int, pages_a_step: int = 2_000) -> Iterator[int]:
        """The same step by step, for a large backlog (a million pages take seconds); the fold may go on in between.

        Gives the number of backlog pages read so far.
        """
        if self._learns:
            return
        self._forget()
        self._learns = True
        yield from building(self._memory, self._tables, pages_a_step)
        self._desk.build()
        self._expiries.build()
        self._renewals.build()
        self._starts.build()
        self._loading.build()
        for reached in self._ends.values():
            self._starts.ended(reached)
        self._memory.clearing.rest(now_ms)
        self._released = True

    @property
    def position(self) -> int:
        """All batches below this offset are folded in; 0 before any."""
        return self._position

    @property
    def recovering(self) -> bool:
        """True below the end offset of `catch_up_to`."""
        return self._position < self._target

    @property
    def released(self) -> bool:
        """True after `release`."""
        return self._released

    @property
    def dispatching(self) -> bool:
        """True after `release`, once the partition has caught up."""
        return self._released and not self.recovering

    def longest_lease_ms(self) -> int:
        """Of the jobs with something pending: what the take-over barrier must wait at most."""
        pending = (
            job for job, record in self._cache.jobs.items() if self._cache.ledger(run_id(job, record.run)).pending
        )
        leases = (self._memory.terms(job).lease_ms for job in pending)
        return max(leases, default=_SHORTEST_LEASE_MS)

    # ---- the fold

    def fold(self, batch: Batch, offset: int) -> tuple[Write, ...]:
        """What the batch changes. The caller applies ALL writes in order, before anything else is called."""
        self._cache.trim()
        fold = Fold(self._cache, self._tables, (self._partition, self._partitions), offset)
        fold.apply(batch)
        self._position = offset + 1
        effects = fold.effects
        self._reports.folded(effects)
        self.told += effects.told
        for job in effects.purged:
            self._cache.forget(job)
            self._reports.forget(job)
        if not self._learns:
            return fold.writes()
        purged = self._memory.purging.take()
        emptied = self._learning.learn(effects)
        self._desk.touch(effects.runs)
        self._expiries.touch(effects.jobs)
        self._renewals.touch((*effects.jobs, *effects.renewed))
        self._starts.touch((*effects.jobs, *effects.foreseen))
        self._loading.touch(split_run_id(run)[0] for run in effects.runs)
        return fold.writes(emptied, purged)

    # ---- dispatch

    @property
    def outstanding(self) -> int:
        """Requests sent and not yet answered by `Fetched` nor past their lease."""
        return self._memory.sent

    def dispatch(self, now_ms: int, credit: int) -> Dispatched:
        """What to send now; `credit`: how many requests may be sent in this call (total minus outstanding)."""
        if not self.dispatching:
            return Dispatched()
        self._memory.rereading.step()
        dispatcher = self._dispatcher
        dispatcher.run(now_ms, credit, self._limits.unparsed - self._memory.unparsed, self._limits.visits)
        facts = [ToPartition(self._partition, fact) for fact in dispatcher.facts]
        facts += self._desk.talk(now_ms)
        facts += self._expiries.talk(now_ms)
        facts += self._renewals.talk(now_ms)
        facts += [*self._starts.talk(now_ms), *self._loading.talk(now_ms)]
        facts += [ToPartition(self._partition, fact) for fact in merges(self._memory)]
        if self._memory.clearing.tick(now_ms) or self._memory.purging.tick(now_ms):
            facts.append(ToPartition(self._partition, Ticked(at_ms=now_ms)))
        events = (*dispatcher.events, *self._starts.events)
        return Dispatched(tuple(dispatcher.requests), tuple(facts), events)

    def wake_at_ms(self, now_ms: int) -> int | None:
        """When `dispatch` has something to do without a new fact; None: never."""
        if not self.dispatching:
            return None
        agenda = self._dispatcher.agenda
        wakes = [agenda.wake_at_ms(), self._memory.next_lease_ms(), self._desk.wake_at_ms()]
        wakes += [self._expiries.wake_at_ms(), self._memory.clearing.wake_at_ms()]
        wakes += [self._renewals.wake_at_ms(), self._starts.wake_at_ms(), self._loading.wake_at_ms()]
        wakes.append(self._memory.purging.wake_at_ms())
        if agenda.turns and self._memory.unparsed < self._limits.unparsed:
            wakes.append(now_ms)
        if self._memory.crowded or self._memory.rereading:
            wakes.append(now_ms)
        return min((wake for wake in wakes if wake is not None), default=None)

    # ---- reports and questions

    def progress(self, now_ms: int) -> tuple[Progress, ...]:
        """Reports worth sending now: jobs that have changed, or whose position has moved on.

        Ask at least every few seconds, also when nothing is folded: a quiet job's position is reported less often.
        """
        limiting = None
        if self.recovering:
            limiting = RECOVERING
        elif not self._released:
            limiting = "It waits for the requests of the partition's former owner."
        elif self._memory.unparsed >= self._limits.unparsed:
            limiting = f"The parsers are behind: {self._limits.unparsed} pages or more are fetched and not parsed."
        memory = self._memory if self._released else None
        self._reports.planned(self._starts.plans, self._starts.changed)
        self._starts.changed.clear()
        return self._reports.progress(self._position, now_ms, memory, limiting)

    def recounting(self, job: str) -> Callable[[int], Recount] | None:
        """A fresh count of `seen` as it is now, kept for later reports; None while recovering.

        The call that it returns takes the time (ms), may take seconds, and may be made in another thread.
        """
        if self.recovering or job not in self._cache.jobs or job in self._cache.purged:
            return None
        run = run_id(job, self._cache.job(job).run)
        recounting = Recounting(self._tables, self._cache.ledger(run), run, self._position)

        def count(now_ms: int) -> Recount:
            counted = recounting.run(now_ms)
            self._reports.counted(run, counted)
            return counted

        return count

    def recount(self, job: str, now_ms: int = 0) -> Recount | None:
        """The same at once."""
        count = self.recounting(job)
        return None if count is None else count(now_ms)

    def ended(self, reached: Reached, *, untold: bool = False) -> None:
        """A run's end was announced; `untold`: an owner before told of it last while it recovered."""
        self._reports.ended(reached.job, reached.epoch, reached.run, untold=untold)
        self._ends[reached.job] = reached
        self._starts.ended(reached)

    def host_reports(self, now_ms: int) -> tuple[HostReport, ...]:
        """Hosts whose report has changed since the last call."""
        return self._reports.hosts(now_ms, self._memory, self._dispatcher.agenda)

    def answer(self, question: Question, now_ms: int) -> Answer:
        """`explain`, `urls` (pages of `seen` by state) or `recount`; read-only."""
        if question.kind == "recount":
            return self.counted(question, self.recount(question.job, now_ms), now_ms)
        return self._questions.answer(question, now_ms, self._memory, self._dispatcher)

    def counted(self, question: Question, counted: Recount | None, now_ms: int) -> Answer:
        """The answer to `recount`, once counted (None: nothing was)."""
        body = {"recovering": True} if counted is None else {"recount": counted}
        return Answer(id=question.id, partition=self._partition, body=body, at_ms=now_ms)

    def counting(self, now_ms: int) -> Generator[None, None, Figures]:
        """The partition in numbers, step by step; goes over its hosts, so not to be asked all the time."""
        return counting(self._memory, self._dispatcher.agenda, now_ms)

    def jobs(self) -> Iterable[str]:
        """Jobs known here."""
        return tuple(self._cache.jobs)
