"""Tells a job's home where its run takes longest in this partition: a deadline that cannot be met is known early.

Looked at now and then, step by step; what is told is absolute, and the newest wins.
"""

from collections.abc import Iterable
from heapq import nlargest
from typing import Final

from odradek.contracts import HostLoad, LoadsReported
from odradek.urls import partition_of
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.hosts import Agenda
from odradek_scheduler.core.keys import run_id
from odradek_scheduler.core.loads import HostCount, counts_key
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.outlook import SHOWN
from odradek_scheduler.core.queues import HostQueue
from odradek_scheduler.core.state import unpack
from odradek_scheduler.core.tables import Tables, rows_from
from odradek_scheduler.core.terms import Terms

EVERY_MS: Final = 30_000
"""Between two looks at a run."""
AT_ONCE: Final = 1_000
"""Hosts looked at in one step."""


class Loading:
    """What was told already, in memory only: after a take-over it is told again."""

    def __init__(self, memory: Memory, tables: Tables, agenda: Agenda, place: tuple[int, int]) -> None:
        self._memory, self._tables, self._agenda = memory, tables, agenda
        self._partition, self._partitions = place
        self._checks: dict[str, int] = {}
        """By job, when to look at it."""
        self._looked: dict[str, int] = {}
        """By job, when it was looked at last: with nothing left, much may still be said of it."""
        self._reading: tuple[str, int, bytes] | None = None
        """Job, run, and the key to go on from."""
        self._hosts: list[HostLoad] = []
        self._told: dict[str, tuple[int, tuple[HostLoad, ...]]] = {}

    def build(self) -> None:
        """Look at every job that has a deadline; the specifications of the others stay unread."""
        jobs = self._memory.cache.jobs.items()
        self.touch([job for job, record in jobs if (record.spec.get("schedule") or {}).get("fresh_by") is not None])

    def touch(self, jobs: Iterable[str]) -> None:
        """Something has happened to these jobs."""
        for job in jobs:
            schedule = self._memory.terms(job).schedule
            if schedule is not None and schedule.fresh_by is not None:
                self._checks.setdefault(job, self._looked.get(job, -EVERY_MS) + EVERY_MS)

    def wake_at_ms(self) -> int | None:
        """When there is something to look at; 0: now."""
        return 0 if self._reading is not None else min(self._checks.values(), default=None)

    def talk(self, now_ms: int) -> list[ToPartition]:
        """Look on; what is to be told once all hosts were seen."""
        if self._reading is None:
            due = min(((at_ms, job) for job, at_ms in self._checks.items() if at_ms <= now_ms), default=None)
            if due is None:
                return []
            job = due[1]
            self._reading, self._hosts = (job, self._memory.cache.job(job).run, b""), []
        job, run, first = self._reading
        prefix = counts_key(run_id(job, run))
        rows, go_on = rows_from(self._tables, "ledger", prefix, first, AT_ONCE)
        terms = self._memory.terms(job)
        self._keep([self._load(key[len(prefix) :].decode(), unpack(HostCount, value), terms) for key, value in rows])
        if go_on is not None:
            self._reading = (job, run, go_on)
            return []
        return self._tell(job, run, now_ms)

    def _tell(self, job: str, run: int, now_ms: int) -> list[ToPartition]:
        self._reading = None
        hosts = tuple(sorted(self._hosts, key=lambda host: host.key))
        ledger = self._memory.cache.ledger(run_id(job, run))
        self._looked[job] = now_ms
        if ledger.pending:
            self._checks[job] = now_ms + EVERY_MS
        else:
            del self._checks[job]
        if self._told.get(job) == (run, hosts):
            return []
        self._told[job] = (run, hosts)
        fact = LoadsReported(
            job=job, run=run, partition=self._partition, offset=ledger.offset, hosts=hosts, at_ms=now_ms
        )
        return [ToPartition(partition_of(job, self._partitions), fact)]

    def _keep(self, more: list[HostLoad]) -> None:
        """The hosts that take longest in all, and those with most left."""
        found = {host.key: host for host in (*self._hosts, *more)}.values()
        longest = nlargest(SHOWN, found, key=lambda host: host.urls * host.gap_ms)
        left = nlargest(SHOWN, found, key=lambda host: host.open * host.gap_ms)
        self._hosts = list({host.key: host for host in (*longest, *left)}.values())

    def _load(self, key: str, count: HostCount, terms: Terms) -> HostLoad:
        host = self._memory.hosts.get(key) or HostQueue(key)
        pace = self._agenda.pace(host, others=(terms,))
        gap_ms = (pace.delay_ms + (self._memory.cache.host(key).latency_ms or 0)) / pace.concurrency
        return HostLoad(
            key=key, urls=count.urls, open=max(0, count.open), gap_ms=round(gap_ms),
            delay_ms=pace.delay_ms, concurrency=pace.concurrency,
        )  # fmt: skip
