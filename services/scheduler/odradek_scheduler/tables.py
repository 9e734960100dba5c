"""Faust tables over the local stores: Faust recovers them from their changelogs, the fold writes them in batches.

A write does not go through `table[key] = value`: one frontier batch is one write to RocksDB and its changelog records
go straight to the producer, with the partition of the batch. Recovery, assignment and offsets remain Faust's.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import faust
import structlog
from faust.stores.base import Store
from faust.types import TP

from odradek_scheduler.core.tables import TABLE_NAMES, TableName, Write
from odradek_scheduler.producer import AcknowledgedProducer, Headers
from odradek_scheduler.store import OFFSET_HEADER, PartitionStore, Record, Stores

log = structlog.get_logger()

RECOVERY_BATCH: Final = 1000


class ChangelogStore(Store[bytes, bytes]):
    """What Faust's recovery needs of one table; the bytes lie in the partition's store, beside the other tables'."""

    def __init__(self, url: Any, app: Any, table: Any, *, stores: Stores, **kwargs: Any) -> None:
        super().__init__(url, app, table, **kwargs)
        self._stores = stores
        self._name: TableName = table.name
        self.foreign: set[int] = set()
        """Partitions that recovery has changed since this was last emptied."""

    def persisted_offset(self, tp: TP) -> int | None:
        """Up to which changelog record everything is in the local store."""
        return self._stores.of(tp.partition).changelog_offset(self._name)

    def set_persisted_offset(self, tp: TP, offset: int) -> None:
        """Remember that every record up to this one is in the local store."""
        self._stores.of(tp.partition).set_changelog_offset(self._name, offset)

    async def need_active_standby_for(self, tp: TP) -> bool:  # noqa: ARG002  (Faust's signature)
        """There are no standbys."""
        return False

    def apply_changelog_batch(self, batch: Iterable[Any], to_key: Any, to_value: Any) -> None:  # noqa: ARG002
        """Lay changelog records over the table, the newest per key winning."""
        records: dict[int, list[Record]] = {}
        ends: dict[TP, int] = {}
        for event in batch:
            message = event.message
            records.setdefault(message.partition, []).append((message.key, message.value, _died(message)))
            ends[message.tp] = max(message.offset, ends.get(message.tp, -1))
        for partition, mine in records.items():
            if self._stores.of(partition).recover(self._name, mine):
                self.foreign.add(partition)
        for tp, offset in ends.items():
            self.set_persisted_offset(tp, offset)

    async def on_rebalance(
        self,
        assigned: set[TP],  # noqa: ARG002  (Faust's signature)
        revoked: set[TP],
        newly_assigned: set[TP],
        generation_id: int = 0,  # noqa: ARG002  (Faust's signature)
    ) -> None:
        """Close what went away; throw away what cannot stem from the changelog that is there now."""
        topic = self.table.changelog_topic.get_topic_name()
        for tp in revoked:
            if tp.topic == topic:
                self._stores.close(tp.partition)
        mine = {tp for tp in newly_assigned if tp.topic == topic}
        warm = {tp: offset for tp in mine if (offset := self.persisted_offset(tp)) is not None}
        if warm:
            ends = await self.app.consumer.highwaters(*warm)
            for tp, offset in warm.items():
                if offset >= ends[tp]:
                    log.warning("tables_discarded", topic=topic, partition=tp.partition, have=offset, end=ends[tp])
                    self._stores.discard(tp.partition)

    def reset_state(self) -> None:
        """Faust asks for this in its `reset` command only."""

    async def backup_partition(self, *args: Any, **kwargs: Any) -> None:
        """The changelog is the backup."""

    def restore_backup(self, *args: Any, **kwargs: Any) -> None:
        """The changelog is the backup."""


class FrontierTable(faust.Table[bytes, bytes]):
    """One of the four tables."""

    def __init__(self, app: Any, *, stores: Stores, **kwargs: Any) -> None:
        self._stores = stores
        super().__init__(app, **kwargs)

    def _new_store(self) -> Any:
        return ChangelogStore(
            "rocksdb://", self.app, self, stores=self._stores, table_name=self.name, loop=self.loop, options={}
        )


class FrontierTables:
    """The four tables of all partitions that this process owns."""

    def __init__(self, app: Any, stores: Stores, partitions: int) -> None:
        self._stores = stores
        schema: Any = faust.Schema(key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
        self._tables = {
            name: app.tables.add(
                FrontierTable(
                    app,
                    stores=stores,
                    name=name,
                    schema=schema,
                    key_type=bytes,
                    value_type=bytes,
                    partitions=partitions,
                    recovery_buffer_size=RECOVERY_BATCH,
                )
            )
            for name in TABLE_NAMES
        }
        self._topics: dict[TableName, str] = {name: table.changelog_topic_name for name, table in self._tables.items()}
        self._names = {topic: name for name, topic in self._topics.items()}

    @property
    def changelogs(self) -> tuple[str, ...]:
        """Full names of the changelog topics."""
        return tuple(self._topics.values())

    def of(self, partition: int) -> PartitionStore:
        """The tables of one partition, for the core."""
        return self._stores.of(partition)

    def apply(self, partition: int, writes: Iterable[Write], producer: AcknowledgedProducer) -> None:
        """Write one batch's changes, and send all to the changelogs (rule B: those that change nothing too)."""
        changes = list(writes)
        if not changes:
            return
        self._stores.of(partition).write(changes)
        for table, key, value, offset in changes:
            headers: Headers | None = [(OFFSET_HEADER, b"%d" % offset)] if value is None else None
            producer.produce(self._topics[table], partition, key, value, headers, changelog=True)

    def acknowledged(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Kafka has these changelog records, and all before them, of partitions still owned."""
        for (topic, partition), offset in offsets.items():
            if self._stores.is_open(partition):
                self._stores.of(partition).set_changelog_offset(self._names[topic], offset)

    def take_foreign(self) -> set[int]:
        """Partitions that recovery has changed since the last call: somebody else has written them."""
        found: set[int] = set()
        for table in self._tables.values():
            found |= table.data.foreign
            table.data.foreign = set()
        return found


def _died(message: Any) -> int:
    for key, value in message.headers or ():
        if key == OFFSET_HEADER:
            return int(value)
    return -1
