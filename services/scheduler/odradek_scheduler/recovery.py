"""Reads changelogs into the local tables, many times faster than Faust would.

Faust takes every changelog record through a queue and a time-out of its own, about 0.1 ms each. Here a consumer of
librdkafka reads them in bulk on a thread; Faust's recovery then finds that there is nothing left to do.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from confluent_kafka import Consumer, TopicPartition
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import TP

from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek_scheduler.tables import FrontierTables

log = structlog.get_logger()

BULK: Final = 5000
SLICE_S: Final = 0.2
QUEUED_KIB: Final = 4 * 1024
"""Of each changelog partition, read ahead: there are four tables for each partition of the frontier."""


class ChangelogReader:
    """Brings the tables of newly assigned partitions up to the end of their changelogs."""

    def __init__(self, settings: Settings, tables: FrontierTables) -> None:
        self._settings = settings
        self._tables = tables
        self._reading = asyncio.Lock()
        self.wanted = False
        """True from an assignment until the next rebalance begins."""

    async def read(self, ends: Mapping[TP, int]) -> None:
        """Lay down every record up to these offsets (of the last record; -1: none) that is not in the tables yet."""
        missing = {}
        for tp, end in ends.items():
            have = self._tables.persisted_offset(tp.topic, tp.partition)
            if end > (-1 if have is None else have):
                missing[tp.topic, tp.partition] = (0 if have is None else have + 1, end)
        if not missing:
            return
        async with self._reading:
            consumer = Consumer(_config(self._settings))
            try:
                consumer.assign([TopicPartition(*tp, begin) for tp, (begin, _) in missing.items()])
                while missing and self.wanted:
                    await _to_its_end(self._slice, consumer, missing)
            finally:
                await _to_its_end(consumer.close)

    def go_on(self) -> None:
        """There is an assignment."""
        self.wanted = True

    async def stop(self) -> None:
        """Another rebalance has begun: leave the tables alone."""
        self.wanted = False
        async with self._reading:
            pass

    def _slice(self, consumer: Consumer, missing: dict[tuple[str, int], tuple[int, int]]) -> None:
        """One bulk; partitions that are complete leave `missing`."""
        bulk: dict[tuple[str, int], list[Any]] = {}
        for message in consumer.consume(BULK, timeout=SLICE_S):
            error = message.error()
            if error is not None:
                if error.fatal():
                    raise InfrastructureAway(error.str())
                log.warning("changelog_error", error=error.str())
                continue
            bulk.setdefault((message.topic() or "", message.partition() or 0), []).append(message)
        for (topic, partition), messages in bulk.items():
            self._tables.recover(topic, partition, messages)
        reached = {(p.topic, p.partition): p.offset for p in consumer.position(consumer.assignment())}
        for tp, (_, end) in list(missing.items()):
            if reached.get(tp, -1) > end:
                self._tables.complete(*tp, end)
                del missing[tp]


class BulkRecovery(Recovery):
    """Faust's recovery, with the changelogs read in bulk before it counts what is missing."""

    @property
    def overtaken(self) -> bool:
        """True when another rebalance has begun since the assignment that is being recovered."""
        app: Any = self.app
        return (
            self.signal_recovery_start.is_set()
            or not app.changelog_reader.wanted
            or self._generation_id != app.consumer_generation_id
        )

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """The last step: listeners are told, and the streams flow again; with another rebalance under way, never."""
        if self.overtaken:
            await _until_cancelled()
        await super().on_recovery_completed(generation_id)

    async def _build_highwaters(self, consumer: Any, tps: set[TP], destination: Any, title: str) -> None:
        await super()._build_highwaters(consumer, tps, destination, title)
        if title != "active":
            return
        app: Any = self.app
        if not self.overtaken:
            await app.changelog_reader.read({tp: destination[tp] for tp in tps})
        if self.overtaken:
            await _until_cancelled()
        for tp in tps:
            persisted = self.tp_to_table[tp].persisted_offset(tp)
            if persisted is not None:
                self.active_offsets[tp] = persisted

    def need_recovery(self) -> bool:
        """Never: Faust's consumer fetches no changelog.

        Raises:
            RuntimeError: something was not read after all.
        """
        if super().need_recovery():
            raise RuntimeError("a changelog was not read to its end")
        return False

    async def _wait(self, coro: Any, timeout: Any = None) -> None:  # noqa: ARG002, ASYNC109  (Faust's signature)
        """Reading takes as long as it takes; requests have time limits of their own."""
        await super()._wait(coro)


class PromptTableManager(TableManager):
    """Faust waits a second before it looks at its tables; ours are all declared by then."""

    @property
    def recovery(self) -> Recovery:
        """The recovery of this process."""
        if self._recovery is None:
            self._recovery = BulkRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery

    async def sleep(self, n: Any) -> None:
        """Do not wait while starting; otherwise as ever."""
        await super().sleep(0 if not self._tables_registered.is_set() else n)


async def _until_cancelled() -> None:
    """The next assignment does it (`Recovery._wait`)."""
    await asyncio.Event().wait()


async def _to_its_end(work: Callable[..., None], *args: Any) -> None:
    """Run in a thread; also who cancels waits until it is over, for it holds the tables."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await thread
        raise


def _config(settings: Settings) -> dict[str, Any]:
    return consumer_config(settings, f"{settings.topic_prefix}view") | {
        "partition.assignment.strategy": "range",
        "fetch.wait.max.ms": 20,
        "queued.max.messages.kbytes": QUEUED_KIB,
    }
