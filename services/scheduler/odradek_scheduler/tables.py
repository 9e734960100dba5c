"""Faust tables over the local stores: Faust recovers them from their changelogs, the fold writes them in batches.

A write does not go through `table[key] = value`: one frontier batch is one write to RocksDB and its changelog records
go straight to the producer, with the partition of the batch. Recovery, assignment and offsets remain Faust's.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import faust
import structlog
from confluent_kafka import Message
from faust.stores.base import Store
from faust.types import TP

from odradek_scheduler.core.tables import TABLE_NAMES, TableName, Write
from odradek_scheduler.producer import AcknowledgedProducer, Headers
from odradek_scheduler.store import OFFSET_HEADER, PartitionStore, Stores

log = structlog.get_logger()

RECOVERY_BATCH: Final = 1000
Place = tuple[str, int]
"""Changelog and partition."""


class ChangelogStore(Store[bytes, bytes]):
    """What Faust's recovery needs of one table; the bytes lie in the partition's store, beside the other tables'."""

    def __init__(self, url: Any, app: Any, table: Any, *, stores: Stores, **kwargs: Any) -> None:
        super().__init__(url, app, table, **kwargs)
        self._stores = stores
        self._name: TableName = table.name

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
        """Faust's own way to recover; everything has been read by then (`ChangelogReader`).

        Raises:
            RuntimeError: something is left after all.
        """
        if any(True for _ in batch):
            raise RuntimeError(f"the changelog of {self._name} was not read to its end")

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
        self._foreign: set[int] = set()
        self._acknowledged: dict[Place, int] = {}

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

    def acknowledged(self, offsets: Mapping[Place, int]) -> None:
        """Kafka has these changelog records of ours. Whether it has somebody else's before them it does not say."""
        self._acknowledged |= offsets

    @property
    def newest(self) -> Mapping[Place, int]:
        """The newest acknowledged record of each changelog, as of now."""
        return dict(self._acknowledged)

    def owned(self, partitions: Collection[int], newest: Mapping[Place, int]) -> None:
        """These partitions were still ours after those records were acknowledged: all before them is in our tables.

        Only who was told so may say it. A process that slept through the loss of a partition writes behind its
        successor's records; it may get the partition back, and must read those then.
        """
        for (topic, partition), offset in newest.items():
            if partition not in partitions or not self._stores.is_open(partition):
                continue
            store, table = self._stores.of(partition), self._names[topic]
            have = store.changelog_offset(table)
            if have is None or offset > have:
                store.set_changelog_offset(table, offset)

    def persisted_offset(self, topic: str, partition: int) -> int | None:
        """Up to which record of a changelog everything is in the local tables."""
        return self._stores.of(partition).changelog_offset(self._names[topic])

    def recover(self, topic: str, partition: int, messages: Iterable[Message]) -> None:
        """Lay changelog records over a table, the newest per key winning (rule B)."""
        records = [(message.key() or b"", message.value(), _died(message)) for message in messages]
        if self._stores.of(partition).recover(self._names[topic], records):
            self._foreign.add(partition)

    def complete(self, topic: str, partition: int, offset: int) -> None:
        """Everything in a changelog up to this record is in the local tables."""
        self._stores.of(partition).set_changelog_offset(self._names[topic], offset)

    def take_foreign(self) -> set[int]:
        """Partitions that recovery has changed since the last call: somebody else has written them."""
        found, self._foreign = self._foreign, set()
        return found


def _died(message: Message) -> int:
    """The frontier offset of a tombstone; -1: none was sent."""
    headers: Any = message.headers() or ()
    return next((int(value) for key, value in headers if key == OFFSET_HEADER), -1)
