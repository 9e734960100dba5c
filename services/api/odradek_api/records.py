"""The records of jobs: the newest of view and own writes, changed one at a time, told to every partition."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from weakref import WeakValueDictionary

import msgspec

from odradek.clock import now_ms
from odradek.contracts import Fact, JobChanged, JobRecord, encode
from odradek.kafka.packing import batch_for
from odradek.kafka.records import Send
from odradek.topics import FRONTIER, JOBS, MAX_MESSAGE_BYTES
from odradek_api.core.problems import job_too_large, no_such_job
from odradek_api.ports import Log, Newest

MAX_RECORD_BYTES = MAX_MESSAGE_BYTES * 3 // 4
"""Of a job's record: what is noted in it later has room, and a message can hold it."""


class Locks:
    """A lock for each name, for as long as somebody holds or awaits it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """The lock of this name."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock


class Records:
    """The topic `jobs`, which the gateway alone writes, and its echo in every frontier partition.

    A change is read, made and written under the job's lock, so that two requests at once lose nothing of each other.
    A change that Kafka holds but that not every partition was told of is told again by `tell_again`.
    """

    def __init__(
        self, log: Log, jobs: Newest[JobRecord], in_its_run: Callable[[JobRecord], JobRecord] | None = None
    ) -> None:
        """`in_its_run` gives a record the run that is under way: the scheduler begins runs."""
        self._log, self._jobs = log, jobs
        self._in_its_run = in_its_run or (lambda record: record)
        self._written: dict[str, JobRecord] = {}
        self._gone: set[str] = set()
        self._order: dict[str, None] = {}
        """Job ids as `all` gave them last: they are sorted again only when a job comes or goes."""
        self._untold: set[str] = set()
        self._locks = Locks()

    def get(self, job: str) -> JobRecord:
        """The newest record of a job, this gateway's own writes included.

        Raises:
            Problem: 404.
        """
        viewed, written = self._jobs.get(job), self._written.get(job)
        if job in self._gone or (viewed is None and written is None):
            raise no_such_job(job)
        if written is None or (viewed is not None and viewed.version >= written.version):
            self._written.pop(job, None)
            return self._in_its_run(viewed)  # type: ignore[arg-type]  # one of the two is there
        return self._in_its_run(written)

    def all(self) -> list[JobRecord]:
        """All jobs, newest first; jobs of the same millisecond by id."""
        records = {record.job: record for record in self.each()}
        if records.keys() != self._order.keys():
            newest = sorted(records.values(), key=lambda each: (-each.created_at_ms, each.job))
            self._order = dict.fromkeys(each.job for each in newest)
        return [records[job] for job in self._order]

    def each(self) -> Iterator[JobRecord]:
        """All jobs in any order."""
        for job, viewed in self._jobs.items():
            if job not in self._gone:
                yield self.get(job) if job in self._written else self._in_its_run(viewed)
        viewed_too = self._jobs.get
        yield from (self._in_its_run(own) for job, own in list(self._written.items()) if viewed_too(job) is None)

    async def create(self, record: JobRecord) -> None:
        """Write a new job's record, then tell every partition of it with its specification.

        Raises:
            Problem: 413 for one that no message can hold.
        """
        async with self._locks.of(record.job):
            await self._write(record)
            await self._tell(record, spec=True)

    async def revise(
        self, job: str, change: Callable[[JobRecord], JobRecord], *, told: bool = True, spec: bool = False
    ) -> JobRecord:
        """Write the record as `change` makes it; `told`: also to every partition, `spec`: with the specification.

        Raises:
            Problem: 404, 413 for a record that no message can hold, and whatever `change` refuses.
        """
        async with self._locks.of(job):
            old = self.get(job)
            record = msgspec.structs.replace(change(old), version=old.version + 1, changed_at_ms=now_ms())
            if told:
                self._untold.add(job)
            await self._write(record)
            if told:
                await self._tell(record, spec=spec)
            return record

    async def tell_again(self, job: str) -> None:
        """Tell every partition of a job as it is now, with its specification; telling twice changes nothing."""
        async with self._locks.of(job):
            await self._tell(self.get(job), spec=True)

    @property
    def untold(self) -> tuple[str, ...]:
        """Jobs whose newest change may not have reached every partition."""
        return tuple(self._untold - self._gone)

    async def forget(self, job: str) -> None:
        """Take the record away for good."""
        async with self._locks.of(job):
            await self._log.send([Send(JOBS, job, None)])
            self._gone.add(job)
            self._written.pop(job, None)

    async def broadcast(self, facts: Sequence[Fact]) -> None:
        """These facts to every frontier partition."""
        await self._log.send([batch_for(number, facts) for number in range(self._log.partitions(FRONTIER))])

    async def _write(self, record: JobRecord) -> None:
        value = encode(record)
        if len(value) > MAX_RECORD_BYTES:
            raise job_too_large(len(value), MAX_RECORD_BYTES)
        await self._log.send([Send(JOBS, record.job, value)])
        self._written[record.job] = record

    async def _tell(self, record: JobRecord, *, spec: bool) -> None:
        fact = JobChanged(
            job=record.job,
            version=record.version,
            epoch=record.epoch,
            wanted=record.wanted,
            spec={name: value for name, value in record.spec.items() if name != "seeds"} if spec else None,
            run=record.run,
            asked_run=record.asked_run,
            created_at_ms=record.created_at_ms,
            at_ms=record.changed_at_ms,
        )
        self._untold.add(record.job)
        await self.broadcast([fact])
        self._untold.discard(record.job)
