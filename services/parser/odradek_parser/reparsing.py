"""Pages read again with the rules of now: nothing is fetched, and the ledger hears nothing of it.

What is asked for stands in the job's record, which every parser reads. All of them join the group of that reparse;
Kafka shares out the partitions, and the group's commits say how far it is. So it goes on after a kill, and
reading a page twice gives the same items. One reparse at a time, in the order in which they were asked for.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER, JobRecord, PageMeta, Reparse, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Poison, Record, Stage
from odradek.kafka.reparses import records_left, reparse_service
from odradek.kafka.runner import Runner
from odradek.settings import Settings
from odradek.topics import PAGES, TOPICS
from odradek_parser import metrics
from odradek_parser import settings as own
from odradek_parser.core.parsing import Reader
from odradek_parser.guard import Guard, NoGuard, guarded
from odradek_parser.jobs import Readers, Unreadable
from odradek_parser.outgoing import record_sends

LOOK_EVERY_S = 1.0
_RETENTION_MS = TOPICS[PAGES].retention_ms or 0
"""After so long the pages that were meant are gone, and Kafka may have forgotten how far the group was."""

log = structlog.get_logger()


class Rereading:
    """Handles the pages of one job once more; those of others, and what came later, pass."""

    def __init__(
        self,
        record: JobRecord,
        readers: Readers,
        *,
        guard: Guard | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._record, self._readers = record, readers
        self._ends = record.reparse.ends if record.reparse is not None else ()
        self._guard: Guard = guard or NoGuard()
        self._clock = clock or now_ms

    async def handle(self, records: Sequence[Record]) -> list[Done | Poison]:
        """Handle a batch; nothing about a page raises."""
        try:
            return [self._handle(record) for record in records]
        finally:
            self._guard.rest()

    def _handle(self, record: Record) -> Done | Poison:
        meta = self._meant(record)
        if meta is None:
            return Done(record)
        reader = self._readers.reader(self._record)
        if isinstance(reader, Unreadable):
            return Poison(record, "poison", reader.error)
        found = guarded(self._guard, record, meta.request.url, lambda: self._read(record, meta, reader))
        return Poison(record, "poison", found) if isinstance(found, str) else found

    def _meant(self, record: Record) -> PageMeta | None:
        """The page's metadata, if it is a kept page of this job that lay there when this was asked for."""
        if record.value is None or record.partition >= len(self._ends) or record.offset >= self._ends[record.partition]:
            return None
        try:
            meta = decode(PageMeta, record.header(PAGE_HEADER) or b"")
        except msgspec.DecodeError:
            return None  # it became a dead letter when it was read first
        request = meta.request
        meant = request.job == self._record.job and request.kind == "page" and meta.outcome == "fetched"
        return meta if meant else None

    def _read(self, record: Record, meta: PageMeta, reader: Reader) -> Done:
        reading = reader.read_again(meta, record.value or b"")
        made = record_sends(record, meta, self._record, reading, self._clock())
        metrics.REPARSED.inc()
        metrics.ITEMS.inc(made.items)
        metrics.MALFORMED.inc(made.malformed)
        return Done(record, (Stage(sends=tuple(made.sends)),))


class Reparses:
    """Does what the job records ask for, beside the parsing of what comes in."""

    def __init__(
        self,
        settings: Settings,
        records: Callable[[], Iterable[tuple[str, JobRecord]]],
        producer: StageProducer,
        readers: Readers,
        guard: Guard | None = None,
    ) -> None:
        self._settings, self._records, self._producer = settings, records, producer
        self._readers, self._guard = readers, guard
        self._done: dict[str, int] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set."""
        while not stop.is_set():
            record = self._next()
            try:
                if record is None or record.reparse is None:
                    await _pause(stop)
                elif await self._reread(record, record.reparse, stop):
                    self._done[record.job] = record.reparse.number
            except InfrastructureAway as error:
                log.warning("reparse_waits", error=str(error))
                await _pause(stop)

    def _next(self) -> JobRecord | None:
        """The oldest that is not known to be done."""
        since_ms = now_ms() - _RETENTION_MS
        waiting = [
            (record.reparse.asked_at_ms, job, record)
            for job, record in self._records()
            if record.reparse is not None
            and record.reparse.asked_at_ms > since_ms
            and self._done.get(job, 0) < record.reparse.number
        ]
        return min(waiting, key=lambda each: each[:2])[2] if waiting else None

    async def _reread(self, record: JobRecord, reparse: Reparse, stop: asyncio.Event) -> bool:
        """Take part until the group has read everything: then True. Another reparse may take the place of this one."""
        ends = Ends(self._settings)
        try:
            while not stop.is_set() and self._newest(record.job) == reparse:
                if await asyncio.to_thread(records_left, ends, record.job, reparse) == 0:
                    return True
                await self._take_part(record, reparse, ends, stop)
            return False
        finally:
            ends.close()

    async def _take_part(self, record: JobRecord, reparse: Reparse, ends: Ends, stop: asyncio.Event) -> None:
        log.info("reparse_joined", job=record.job, number=reparse.number)
        service = reparse_service(record.job, reparse.number)
        runner = Runner(self._settings, service, PAGES, self._producer, own.REPARSE_WINDOW)
        handler, enough = Rereading(record, self._readers, guard=self._guard), asyncio.Event()
        reading = asyncio.create_task(runner.run_batches(handler.handle, enough, own.BATCH))
        try:
            left = 1
            while left and not stop.is_set() and not reading.done() and self._newest(record.job) == reparse:
                await _pause(stop)
                left = await asyncio.to_thread(records_left, ends, record.job, reparse)
        finally:
            enough.set()
            await reading
            log.info("reparse_left", job=record.job, number=reparse.number, finished=runner.finished)

    def _newest(self, job: str) -> Reparse | None:
        record = dict(self._records()).get(job)
        return None if record is None else record.reparse


async def _pause(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), LOOK_EVERY_S)
    except TimeoutError:
        return
