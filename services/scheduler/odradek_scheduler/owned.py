"""The frontier partitions that this process owns, each with its core; what a rebalance does to them."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import Batch, Reached, decode
from odradek.kafka.deadletter import dead_letter
from odradek.kafka.gaps import gap_event
from odradek.kafka.records import Poison, Record
from odradek.kafka.window import Gap
from odradek_scheduler import metrics
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.tables import Tables
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.settings import SERVICE
from odradek_scheduler.tables import FrontierTables

log = structlog.get_logger()
_EMPTY = Batch(facts=())


@dataclass(slots=True, eq=False)
class Owned:
    """One partition in our hands."""

    number: int
    core: Partition
    tables: Tables | None = None
    """What the core reads: closed when the partition is taken away, and others when it comes back."""
    kept: bool = True
    """False once it was taken away; whoever still holds this must do nothing with it."""


class Ownership:
    """Which partitions are ours. `steady` is False while a rebalance or recovery runs: then nothing may be sent."""

    def __init__(self, tables: FrontierTables, outbox: Outbox, partitions: int, limits: Limits) -> None:
        self._tables = tables
        self._outbox = outbox
        self._partitions = partitions
        self._limits = limits
        self._owned: dict[int, Owned] = {}
        self._listeners: list[Callable[[], None]] = []
        self.steady = False

    def on_fold(self, listener: Callable[[], None]) -> None:
        """Call `listener()` after each batch."""
        self._listeners.append(listener)

    def __iter__(self) -> Iterator[Owned]:
        return iter(list(self._owned.values()) if self.steady else ())

    def get(self, partition: int) -> Owned | None:
        """The partition, if it is ours and steady."""
        return self._owned.get(partition) if self.steady else None

    def unsettle(self) -> None:
        """A rebalance begins: keep the memory, do nothing."""
        self.steady = False

    def settle(self, assigned: set[int]) -> list[Owned]:
        """Recovery is over: drop what is no longer ours, keep what nobody else has written, load the rest.

        Returns:
            The partitions that are new, or were taken away for a while.
        """
        foreign = self._tables.take_foreign()
        for number, owned in list(self._owned.items()):
            if number not in assigned or number in foreign or self._tables.of(number) is not owned.tables:
                self._owned.pop(number).kept = False
        new = [self._load(number) for number in sorted(assigned - self._owned.keys())]
        self.steady = True
        return new

    def ended(self, reached: Reached, untold: Collection[int]) -> None:
        """A job's end was announced; `untold`: partitions whose newest report stems from an owner that recovered."""
        for owned in self._owned.values():
            owned.core.ended(reached, untold=owned.number in untold)

    def fold(self, record: Record) -> None:
        """Fold one batch of the log; one that cannot be read is a dead letter and changes nothing (rule M).

        Raises:
            RuntimeError: the partition is not ours; to go on would count the batch as done.
        """
        owned = self._owned.get(record.partition)
        if owned is None:
            raise RuntimeError(f"a batch of partition {record.partition}, which is not ours")
        if record.offset < owned.core.position:
            return
        gap = self.gap(record)
        if gap is not None:
            log.error("gap", topic=record.topic, partition=gap.partition, first=gap.first_missing, next=gap.next_read)
            self._outbox.send([gap_event(SERVICE, record.topic, gap, now_ms())])
        batch = self._batch(record)
        with metrics.FOLD.time():
            self._tables.apply(record.partition, owned.core.fold(batch, record.offset), self._outbox.producer)
        metrics.BATCHES.inc()
        metrics.FACTS.inc(len(batch.facts))
        if owned.core.told:
            self._outbox.tell(owned.core.told)
            owned.core.told.clear()
        for listener in self._listeners:
            listener()

    def gap(self, record: Record) -> Gap | None:
        """What is missing before a record of the log, by what its partition has folded."""
        owned = self._owned.get(record.partition)
        position = 0 if owned is None else owned.core.position
        return Gap(record.partition, position, record.offset) if 0 < position < record.offset else None

    def _batch(self, record: Record) -> Batch:
        try:
            return decode(Batch, record.value or b"")
        except msgspec.DecodeError as error:
            log.warning("batch_refused", partition=record.partition, offset=record.offset, error=str(error))
            self._outbox.send([dead_letter(Poison(record, "undecodable", str(error)), SERVICE)])
            return _EMPTY

    def _load(self, number: int) -> Owned:
        tables = self._tables.of(number)
        core = Partition(number, self._partitions, tables, self._limits)
        core.load()
        owned = self._owned[number] = Owned(number, core, tables)
        return owned
