"""The home partition's part in runs: when the next one begins, and what is noted when one has ended (rules A, G).

It decides from what the fold knows, from the ends that were announced, and from the clock; what it decides is a fact.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from odradek.contracts import (
    CLOSED,
    EcsEvent,
    EcsLog,
    EcsService,
    LogEvent,
    OdradekFields,
    Reached,
    RunDue,
    RunEnded,
    RunFigures,
    RunNote,
    RunPlan,
    event_id,
    timestamp,
)
from odradek.schedule import next_due
from odradek.urls import partition_of
from odradek_scheduler.core.chronicle import Chronicle, chronicle_key
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.outlook import Outlook, lead_ms, outlook, span
from odradek_scheduler.core.terms import Terms

AGAIN_MS: Final = 5_000
"""Until a fact that was told is told again."""
LOOK_MS: Final = 30_000
"""Between two looks at whether a run will be in time."""
LATE_MS: Final = 60_000
"""A run that begins so much after it was due says so as a warning."""
_SERVICE: Final = EcsService(name="scheduler")


class Starts:
    """What was heard and told, in memory only: after a take-over ends are heard again, and runs told again."""

    def __init__(self, memory: Memory, partition: int, partitions: int) -> None:
        self._memory = memory
        self._partition, self._partitions = partition, partitions
        self._checks: dict[str, int] = {}
        self._ends: dict[str, Reached] = {}
        self._warned: dict[str, tuple[int, int]] = {}
        """Run and deadline that a miss was announced of."""
        self._untold: set[str] = set()
        """Jobs whose run under way is to be told once more."""
        self.plans: dict[str, RunPlan] = {}
        self.changed: dict[str, None] = {}
        """Jobs whose plan has changed since somebody asked."""
        self.events: list[LogEvent] = []

    def build(self) -> None:
        """Look at every recurring job whose home is here; the specifications of the others stay unread."""
        jobs = self._memory.cache.jobs
        self.touch([job for job, record in jobs.items() if record.spec.get("schedule") is not None])
        self._untold = set(self._checks)

    def touch(self, jobs: Iterable[str]) -> None:
        """These jobs have changed."""
        for job in jobs:
            if partition_of(job, self._partitions) != self._partition:
                continue
            if self._memory.terms(job).schedule is not None:
                self._checks[job] = 0
            elif self._checks.pop(job, None) is not None:
                self.plans.pop(job, None)
                self.changed[job] = None

    def ended(self, reached: Reached) -> None:
        """A run's end was announced, perhaps long ago."""
        known = self._ends.get(reached.job)
        if known is None or (known.epoch, known.run) <= (reached.epoch, reached.run):
            self._ends[reached.job] = reached
            if reached.job in self._checks:
                self._checks[reached.job] = 0

    def wake_at_ms(self) -> int | None:
        """When there is something to decide."""
        return min(self._checks.values(), default=None)

    def talk(self, now_ms: int) -> list[ToPartition]:
        """What is to be said now; `events` then holds what is to be told to people."""
        said: list[ToPartition] = []
        self.events = []
        for job, check_ms in list(self._checks.items()):
            if check_ms <= now_ms:
                self._checks[job] = self._look(job, now_ms, said)
        return said

    # ---- one job

    def _look(self, job: str, now_ms: int, said: list[ToPartition]) -> int:
        """When to look again."""
        record, terms = self._memory.cache.job(job), self._memory.terms(job)
        chronicle = self._memory.cache.value(Chronicle, chronicle_key(job))
        end = self._ends.get(job)
        if end is not None and end.run == record.run and _is_news(chronicle.note(end.run), end):
            ended_ms = end.indexed_at_ms or end.at_ms
            fact = RunEnded(job=job, run=end.run, state=end.state, figures=end.figures or RunFigures(), at_ms=ended_ms)
            said.append(ToPartition(self._partition, fact))
            return now_ms + AGAIN_MS
        if end is None or (end.epoch, end.run) < (record.epoch, record.run):
            return self._under_way(job, chronicle, now_ms, said)
        over = terms.expires_at_ms is not None and terms.expires_at_ms <= now_ms
        if over or record.wanted in CLOSED or end.state in CLOSED or not terms.active:
            self._plan(job, RunPlan(runs=tuple(chronicle.notes)))
            return now_ms + LOOK_MS
        return self._between(job, terms, chronicle, now_ms, said)

    def _under_way(self, job: str, chronicle: Chronicle, now_ms: int, said: list[ToPartition]) -> int:
        record = self._memory.cache.job(job)
        run, note = record.run, chronicle.note(record.run)
        deadline_ms = 0 if note is None else note.deadline_ms
        if note is not None and job in self._untold:
            self._tell(job, note, said)
        self._untold.discard(job)
        seen = outlook(chronicle, run, deadline_ms, now_ms)
        plan = _planned(chronicle, seen, deadline_ms=deadline_ms)
        if note is None:  # the first run is noted when it has ended
            first = RunNote(run=run, due_ms=record.created_at_ms, began_ms=record.created_at_ms)
            plan = msgspec.structs.replace(plan, runs=(*plan.runs, first))
        self._plan(job, plan)
        self._warn(job, run, deadline_ms, seen, now_ms)
        return now_ms + LOOK_MS

    def _between(self, job: str, terms: Terms, chronicle: Chronicle, now_ms: int, said: list[ToPartition]) -> int:
        run, last = self._memory.cache.job(job).run, chronicle.newest
        if terms.schedule is None or last is None:
            return now_ms + LOOK_MS
        anchor_ms = last.due_ms
        if terms.schedule.fresh_by is not None:
            anchor_ms = max(last.deadline_ms or last.due_ms, last.ended_ms)
        due = next_due(terms.schedule, anchor_ms, now_ms, lead_ms(chronicle))
        if self._memory.cache.job(job).asked_run > run and due.at_ms > now_ms:
            due = due._replace(at_ms=now_ms)
        seen = outlook(chronicle, run, due.deadline_ms, max(due.at_ms, now_ms), whole=True)
        self._plan(job, _planned(chronicle, seen, next_run=run + 1, next_at_ms=due.at_ms, deadline_ms=due.deadline_ms))
        self._warn(job, run + 1, due.deadline_ms, seen, now_ms)
        if due.at_ms > now_ms:
            return due.at_ms
        note = RunNote(run=run + 1, due_ms=due.at_ms, began_ms=now_ms, deadline_ms=due.deadline_ms)
        self._tell(job, note, said)
        self.events.append(_began_event(job, note))
        return now_ms + AGAIN_MS

    def _tell(self, job: str, note: RunNote, said: list[ToPartition]) -> None:
        """To all, and once more after a take-over: the former owner may have reached itself and not the others."""
        fact = RunDue(job=job, run=note.run, due_ms=note.due_ms, deadline_ms=note.deadline_ms, at_ms=note.began_ms)
        said.extend(ToPartition(partition, fact) for partition in range(self._partitions))

    def _warn(self, job: str, run: int, deadline_ms: int, seen: Outlook, now_ms: int) -> None:
        if seen.missed is not None and self._warned.get(job) != (run, deadline_ms):
            self._warned[job] = (run, deadline_ms)
            self.events.append(_missing_event(job, run, seen.missed, now_ms))

    def _plan(self, job: str, plan: RunPlan) -> None:
        if self.plans.get(job) != plan:
            self.plans[job] = plan
            self.changed[job] = None


def _is_news(note: RunNote | None, end: Reached) -> bool:
    """An end that is not noted yet, or that came after the run was opened again."""
    return note is None or not note.ended_ms or note.ended_ms < (end.indexed_at_ms or end.at_ms)


def _planned(chronicle: Chronicle, seen: Outlook, **more: int) -> RunPlan:
    runs = tuple(chronicle.notes)
    return RunPlan(expected_ms=seen.expected_ms, missed=seen.missed, hosts=seen.hosts, runs=runs, **more)


def _event(job: str, run: int, action: str, said: tuple[str, int], *, warning: bool) -> LogEvent:
    message, at_ms = said
    return LogEvent(
        timestamp=timestamp(at_ms),
        event=EcsEvent(id=event_id(job, run, "", 0, action), action=action, outcome="success"),
        service=_SERVICE,
        odradek=OdradekFields(job_id=job, run=run),
        message=message,
        log=EcsLog(level="warning" if warning else "info"),
    )


def _began_event(job: str, note: RunNote) -> LogEvent:
    late_ms = note.began_ms - note.due_ms
    late = late_ms >= LATE_MS
    how = f", {span(late_ms)} after it was due at {timestamp(note.due_ms)}" if late else ""
    return _event(job, note.run, "run", (f"Run {note.run} begins{how}.", note.began_ms), warning=late)


def _missing_event(job: str, run: int, missed: str, now_ms: int) -> LogEvent:
    return _event(job, run, "late", (missed, now_ms), warning=True)
