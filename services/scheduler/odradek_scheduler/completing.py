"""Announces jobs as finished: the core's four steps, fed with reports and with offsets as they are now (rule G)."""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from odradek.clock import now_ms
from odradek.contracts import JobRecord, Progress, Reached, counts_agree, decode, encode
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.kafka.records import Send
from odradek.kafka.view import View
from odradek.settings import Settings
from odradek.topics import JOBS, PROGRESS
from odradek.urls import partition_of
from odradek_scheduler.core.completion import Completion, Need
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Ownership
from odradek_scheduler.settings import COMPLETION_EVERY_S

log = structlog.get_logger()

CHANGES_AT_ONCE: Final = 2_000
"""At the start the topics bring all that ever was; other things go on in between."""
RECOUNT_GRACE_MS: Final = 30_000
"""So long an announcement waits for the partitions' recounts."""

Change = tuple[str, JobRecord | Progress | Reached | None]


@dataclass(slots=True)
class _Job:
    """One job on its way."""

    completion: Completion
    reports: dict[int, Progress] = field(default_factory=dict)
    reached: Reached | None = None
    """Found, and held back until the recounts are in."""
    since_ms: int = 0
    ended: Reached | None = None
    """The newest announcement that was read."""


class Completing:
    """Follows every job; brings those on whose home partition is ours."""

    def __init__(self, settings: Settings, ownership: Ownership, outbox: Outbox, partitions: int) -> None:
        self._ownership = ownership
        self._outbox = outbox
        self._partitions = partitions
        self._ends = Ends(settings)
        self._jobs: dict[str, _Job] = {}
        self._open: set[str] = set()
        """Jobs that a change or an offset may bring on."""
        self._changes: deque[Change] = deque()
        self._changed = asyncio.Event()
        self._views = (View(settings, JOBS, _record), View(settings, PROGRESS, _progress))

    async def run(self) -> None:
        """Find completions for ever."""
        loop = asyncio.get_running_loop()

        def changed(key: str, value: JobRecord | Progress | Reached | None) -> None:
            self._changes.append((key, value))
            loop.call_soon_threadsafe(self._changed.set)

        try:
            for view in self._views:
                view.on_change(changed)
                view.start()
            while True:
                alarm = loop.call_later(COMPLETION_EVERY_S if self._open else 5.0, self._changed.set)
                await self._changed.wait()
                alarm.cancel()
                self._changed.clear()
                await self._look()
        finally:
            for view in self._views:
                view.stop()

    def settled(self) -> None:
        """Partitions have changed hands: look at every job again, and tell them which have ended."""
        for job in self._jobs.values():
            self._tell(job)
        self._open.update(self._jobs)
        self._changed.set()

    async def _look(self) -> None:
        while self._changes:
            for _ in range(min(len(self._changes), CHANGES_AT_ONCE)):
                self._take(*self._changes.popleft())
            await asyncio.sleep(0)
        if not all(view.ready for view in self._views):
            return
        self._open = {job for job in self._open if self._is_ours(job)}
        try:
            await self._ask(self._open)
        except InfrastructureAway as error:
            log.warning("offsets_unknown", error=str(error))
        for job in list(self._open):
            self._announce(job)

    async def _ask(self, jobs: Iterable[str]) -> None:
        """Answer what completions need, the same need of many jobs once, until offsets bring none of them on."""
        waiting = set(jobs)
        while waiting:
            wanted: dict[Need, list[str]] = {}
            for job in waiting:
                need = self._jobs[job].completion.needs(now_ms())
                if need is not None:
                    wanted.setdefault(need, []).append(job)
            waiting = set()
            for need, askers in wanted.items():
                offsets = await asyncio.to_thread(self._read, need)
                for job in askers:
                    self._jobs[job].completion.answered(need, offsets)
                    if self._jobs[job].completion.needs(now_ms()) != need:
                        waiting.add(job)

    def _read(self, need: Need) -> dict[int, int]:
        if need.what == "ends":
            return self._ends.end_offsets(need.topic)
        return self._ends.committed(need.group, need.topic)

    def _announce(self, name: str) -> None:
        job = self._jobs[name]
        now = now_ms()
        found = job.completion.reached(now)
        if found is not None:
            job.reached, job.since_ms = found, now
        if job.reached is None:
            if job.completion.needs(now) is None:
                self._open.discard(name)
            return
        if (
            not all(counts_agree(report.counters, report.recount) for report in job.reports.values())
            and now - job.since_ms < RECOUNT_GRACE_MS
        ):
            return
        log.info("job_reached", job=name, state=job.reached.state, epoch=job.reached.epoch)
        self._outbox.send([Send(PROGRESS, name, encode(job.reached))])
        job.reached = None
        self._open.discard(name)

    def _take(self, key: str, value: JobRecord | Progress | Reached | None) -> None:
        name, _, partition = key.partition(":")
        if value is None:
            if not partition:
                self._jobs.pop(name, None)
                self._open.discard(name)
            return
        job = self._jobs.get(name)
        if job is None:
            job = self._jobs[name] = _Job(Completion(name, self._partitions))
        self._open.add(name)
        if isinstance(value, JobRecord):
            job.completion.record_changed(value)
            if job.reached is not None and value.epoch != job.reached.epoch:
                job.reached = None
        elif isinstance(value, Progress):
            job.completion.reported(value)
            job.reports[value.partition] = value
            if value.recovering:
                self._tell(job)
        else:
            job.completion.already_reached(value)
            job.ended = value
            self._tell(job)

    def _tell(self, job: _Job) -> None:
        if job.ended is not None:
            self._ownership.ended(job.ended, {each.partition for each in job.reports.values() if each.recovering})

    def _is_ours(self, job: str) -> bool:
        return job in self._jobs and self._ownership.get(partition_of(job, self._partitions)) is not None


def _record(_key: str, value: bytes) -> JobRecord | Progress | Reached:
    return decode(JobRecord, value)


def _progress(key: str, value: bytes) -> JobRecord | Progress | Reached:
    return decode(Progress, value) if ":" in key else decode(Reached, value)
