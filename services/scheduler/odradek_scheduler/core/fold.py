"""What one batch of facts changes: a function of the batch and of the tables before it (design rules A, B, C, F, H).

A fact at (offset, index) is judged by the transitions before it only. Values that do not keep their history are
changed iff the batch is newer than the offset they carry (`counts`), and are written again in any case.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from odradek.contracts import (
    CLOSED,
    Batch,
    Discovered,
    Fetched,
    Grant,
    HostChanged,
    JobChanged,
    JobPurged,
    LoadsReported,
    Merged,
    Parsed,
    PatternReleased,
    PermitsReported,
    Renewed,
    Reserve,
    RetryAsked,
    RobotsFetched,
    RunDue,
    RunEnded,
    SitemapsListed,
    SkipRest,
    Ticked,
    ledger_run,
)
from odradek.urls import partition_of
from odradek_scheduler.core import (
    budget,
    chronicle,
    holders,
    jobs,
    limiting,
    loads,
    politeness,
    quarantine,
    reopening,
    resting,
    robots,
    running,
    sitemaps,
)
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.closings import Closings
from odradek_scheduler.core.effects import Effects
from odradek_scheduler.core.keys import run_id, seen_key, split_run_id
from odradek_scheduler.core.purging import Row
from odradek_scheduler.core.state import ACCEPTED, RETRY, Step
from odradek_scheduler.core.tables import Tables, Write
from odradek_scheduler.core.touched import Touched

_OF_PURGED_TOO: Final = frozenset((Fetched, RobotsFetched, JobPurged))
"""Facts that say something of a host, and the one that says it again."""


class Fold:
    """One batch being folded: make it, `apply` the batch, learn from `effects`, take `writes`."""

    def __init__(self, cache: Cache, tables: Tables, place: tuple[int, int], offset: int) -> None:
        self._partition, self._partitions = place
        self._offset = offset
        self._touched = Touched(cache, tables, offset)
        self._closings = Closings()
        self._pages: list[Write] = []
        self._begun: list[RunDue] = []
        self.effects = Effects(offset)

    def apply(self, batch: Batch) -> None:
        """Judge all facts in order; then what concerns the batch as a whole."""
        purged = self._touched.purged
        for index, fact in enumerate(batch.facts):
            if purged and getattr(fact, "job", None) in purged and type(fact) not in _OF_PURGED_TOO:
                continue
            self._handlers[type(fact)](self, fact, index)
        for fact in self._begun:
            self._closings.close_begun(self._touched, fact, self._offset)
        self._closings.settle(self._touched, self.effects)
        for fact in self._begun:
            self.effects.superseded += running.prepare(self._touched, fact.job, fact.run)
        self._touched.settle_permits()
        self.effects.pages, self._pages = self._touched.settle_pages()
        self.effects.hosts = list(self._touched.hosts)
        self.effects.jobs = list(self._touched.jobs)
        self.effects.runs = [*self._touched.ledgers, *self._touched.homes]

    def writes(self, emptied: Iterable[bytes] = (), purged: Iterable[Row] = ()) -> tuple[Write, ...]:
        """All changes; with their tombstones: keys of pages found with no open URL, and rows of purged jobs."""
        return self._touched.writes(self._pages, emptied, purged)

    # ---- facts on URLs

    def _discovered(self, fact: Discovered, index: int) -> None:
        number, older = running.concerned(fact, self._touched.run_before(fact.job))
        run = run_id(fact.job, number)
        ledger, counts = self._touched.ledger(run)
        sated = not older and ledgers.sated_before(ledger, self._offset)
        if older or (not sated and ledgers.closed_before(ledger, self._offset)):
            if counts:
                ledgers.count_refused(ledger, "late")
            return
        key = seen_key(run, fact.fp)
        seen = self._touched.seen(key)
        if seen is not None and seen.steps[0].place < (self._offset, index):
            if fact.lastmod is not None:
                resting.lastmod_heard(self._touched, run, fact, seen, (self._offset, index))
            if counts:
                ledger.links_found += 1
                ledger.duplicates += 1
            return
        seen = seen or running.entry(fact, self._offset)
        seen.record(Step(self._offset, index, ACCEPTED))
        self._touched.change(key, seen)
        self._touched.open(run, fact.fp, seen)
        loads.changed(self._touched, ledger, (run, seen.key), urls=1, opened=1)
        if counts:
            ledgers.count_accepted(ledger, sated=sated)

    def _parsed(self, fact: Parsed, index: int) -> None:
        run = run_id(fact.job, fact.run)
        if self._touched.answered_at(fact.key, fact.fetched_at_ms):
            self.effects.unheard.append((run, fact.fp, fact.key))
        ledger, counts = self._touched.ledger(run)
        key = seen_key(run, fact.fp)
        seen = None if ledgers.closed_before(ledger, self._offset) else self._touched.seen(key)
        if seen is None or not ledgers.is_current(fact, seen, (self._offset, index)):
            if counts:
                ledger.late += 1
            self.effects.parsed.append((run, fact.fp, fact.attempt))
            return
        if fact.outcome == "failed" and fact.retry_in_ms is not None:
            due_ms = fact.at_ms + fact.retry_in_ms
            seen.record(Step(self._offset, index, RETRY, due_ms, fact.reason, fact.status))
            self.effects.retried.append((run, fact.fp, fact.attempt, due_ms))
            if counts:
                ledgers.count_retry(ledger, fact)
        else:
            if seen.steps[-1].place < (self._offset, index):
                seen.visit = resting.learned(seen.visit, fact)
            seen.record(Step(self._offset, index, fact.outcome, 0, fact.reason, fact.status))
            self.effects.ended.append((run, fact.fp, fact.attempt))
            if counts:
                ledgers.count_outcome(ledger, fact)
            if ledger.host_limits and ledger.host_limits[0][0] < self._offset:
                holders.share_ended(self._touched, run, seen.key, fact)
            loads.changed(self._touched, ledger, (run, seen.key), opened=-1)
            quarantine.outcome_seen(self._touched, run, seen, fact)
        self._touched.change(key, seen)

    def _retry_asked(self, fact: RetryAsked, index: int) -> None:
        reopening.retried(self._touched, running.of_now(self._touched, fact), (self._offset, index))

    def _pattern_released(self, fact: PatternReleased, index: int) -> None:
        reopening.released(self._touched, running.of_now(self._touched, fact), (self._offset, index))

    def _sitemaps_listed(self, fact: SitemapsListed, index: int) -> None:  # noqa: ARG002
        run = run_id(fact.job, fact.run)
        self.effects.told += sitemaps.listed(self._touched, run, fact, self._partitions)
        self.effects.listed.append((run, fact.key))

    def _merged(self, fact: Merged, index: int) -> None:  # noqa: ARG002  (every handler takes the index)
        page = (run_id(fact.job, fact.run), fact.key, fact.priority)
        self._touched.merge(page, fact.sources)
        self.effects.merged.append((page, fact.sources))

    # ---- facts on hosts

    def _fetched(self, fact: Fetched, index: int) -> None:  # noqa: ARG002
        host, counts = self._touched.host(fact.key)
        if counts:
            politeness.answer_heard(host, fact)
        run = run_id(fact.job, ledger_run(fact.run, fact.kind))
        answer = (run, fact.fp, fact.attempt, fact.key, fact.sent_at_ms)
        (self.effects.given_back if politeness.is_given_back(fact) else self.effects.fetched).append(answer)

    def _robots_fetched(self, fact: RobotsFetched, index: int) -> None:  # noqa: ARG002
        host, counts = self._touched.host(fact.key)
        if counts:
            politeness.answer_heard(host, fact)
        if not politeness.is_given_back(fact):
            known, counts = self._touched.robots(fact.key, fact.origin)
            if counts:
                robots.answer_judged(known, fact)
                self._touched.robots_told(fact.text)
        self.effects.robots.append((fact.key, fact.origin, fact.lease_until_ms))

    def _host_changed(self, fact: HostChanged, index: int) -> None:  # noqa: ARG002
        host, counts = self._touched.host(fact.key)
        if counts:
            politeness.override(host, fact)

    # ---- facts on jobs and budgets

    def _job_changed(self, fact: JobChanged, index: int) -> None:  # noqa: ARG002
        fact, (job, counts) = jobs.sound(fact), self._touched.job(fact.job)
        if counts:
            jobs.heard(job, fact, self._offset)
        run = run_id(fact.job, job.run_before(self._offset))
        self._touched.ledger(run)
        if fact.spec is not None:
            self._limit(run, limiting.limits_in(fact.spec, fact.version))
        if fact.wanted in CLOSED:
            self._closings.close(run, fact.wanted)

    def _job_purged(self, fact: JobPurged, index: int) -> None:  # noqa: ARG002
        """Nothing of the job is sent any more, and none of its facts counts, not even when an older one is replayed."""
        job, counts = self._touched.job(fact.job)
        if counts:
            self._touched.purge(fact.job, fact.at_ms)
        self._closings.close(run_id(fact.job, job.run), "cancelled")
        self.effects.purged.append(fact.job)

    def _limit(self, run: str, limits: limiting.Limits) -> None:
        self._closings.limit(run, limits.version, limits.max_pages)
        limiting.limit(
            self._touched, run, limits, self._offset, partitions=self._partitions if self._is_home(run) else 0
        )

    def _run_due(self, fact: RunDue, index: int) -> None:  # noqa: ARG002
        job, counts = self._touched.job(fact.job)
        if not running.began(job, fact, self._offset, counts=counts):
            return
        run = run_id(fact.job, fact.run)
        self._touched.ledger(run)
        self._limit(run, jobs.limits_before(job, self._offset))
        self._closings.close(run_id(fact.job, fact.run - 1), "expired")
        self._begun.append(fact)
        if self._is_home(run):
            chronicle.run_began(self._touched, fact)

    def _renewed(self, fact: Renewed, index: int) -> None:
        running.renewed(self._touched, fact, (self._offset, index))
        self.effects.renewed.append(fact.job)

    def _run_ended(self, fact: RunEnded, index: int) -> None:  # noqa: ARG002
        chronicle.run_ended(self._touched, fact)

    def _loads_reported(self, fact: LoadsReported, index: int) -> None:  # noqa: ARG002
        chronicle.loads_heard(self._touched, fact)
        self.effects.foreseen.append(fact.job)

    def _reserve(self, fact: Reserve, index: int) -> None:
        holders.reserved(self._touched, fact, (self._offset, index))
        self.effects.reserved.append((run_id(fact.job, fact.run), fact.fps))

    def _grant(self, fact: Grant, index: int) -> None:  # noqa: ARG002
        ledger, counts = self._touched.ledger(run_id(fact.job, fact.run))
        if counts:
            ledger.granted = max(ledger.granted, fact.granted)

    def _permits_reported(self, fact: PermitsReported, index: int) -> None:  # noqa: ARG002
        run = run_id(fact.job, fact.run)
        if self._is_home(run):
            home, counts = self._touched.home(run)
            if counts:
                budget.report_heard(home, fact, self._partitions)

    def _skip_rest(self, fact: SkipRest, index: int) -> None:  # noqa: ARG002
        run = run_id(fact.job, fact.run)
        ledger, _ = self._touched.ledger(run)
        if not ledger.outgrown(fact.version, fact.max_pages, self._offset):
            self._closings.sate(run, fact)

    def _ticked(self, fact: Ticked, index: int) -> None:
        """Only an occasion to write the tombstones found since the last batch."""

    def _is_home(self, run: str) -> bool:
        return partition_of(split_run_id(run)[0], self._partitions) == self._partition

    _handlers: ClassVar[dict[type, Callable[["Fold", Any, int], None]]] = {
        Discovered: _discovered,
        Fetched: _fetched,
        Parsed: _parsed,
        RobotsFetched: _robots_fetched,
        JobChanged: _job_changed,
        JobPurged: _job_purged,
        HostChanged: _host_changed,
        RetryAsked: _retry_asked,
        Reserve: _reserve,
        PermitsReported: _permits_reported,
        Grant: _grant,
        SkipRest: _skip_rest,
        Merged: _merged,
        RunDue: _run_due,
        RunEnded: _run_ended,
        Renewed: _renewed,
        LoadsReported: _loads_reported,
        Ticked: _ticked,
        PatternReleased: _pattern_released,
        SitemapsListed: _sitemaps_listed,
    }
