"""The Faust application: one agent folds the frontier's log into four tables, another answers questions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, cast

import faust
from faust.types import TP

from odradek.errors import InfrastructureAway
from odradek.kafka.records import Record
from odradek.kafka.window import Gap
from odradek.settings import Settings
from odradek.topics import FRONTIER
from odradek_scheduler.core.tables import value_offset
from odradek_scheduler.producer import AcknowledgedProducer
from odradek_scheduler.recovery import ChangelogReader, PromptTableManager
from odradek_scheduler.settings import COMMIT_EVERY_S, SERVICE, StateFolder
from odradek_scheduler.store import Stores
from odradek_scheduler.tables import FrontierTables
from odradek_scheduler.transport import Transport, broker_urls, credentials

BUFFERED_BATCHES: Final = 64
"""Batches of up to 512 KiB that wait in memory."""

Handle = Callable[[Record], None]
FindGap = Callable[[Record], Gap | None]


class SchedulerApp(faust.App):
    """A Faust app that reads with aiokafka, writes with librdkafka, and keeps its tables in one store a partition."""

    def __init__(self, settings: Settings, folder: StateFolder, partitions: int) -> None:
        self.odradek_settings = settings
        super().__init__(settings.group(SERVICE), **_options(settings, folder))
        self.stores = Stores(folder.path / "tables", value_offset)
        self.frontier_tables = FrontierTables(self, self.stores, partitions)
        self.changelog_reader = ChangelogReader(settings, self.frontier_tables)
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set when a batch could not be handled; it is never acknowledged, the process must end."""

    def handle(self, topic: str, handle: Handle, find_gap: FindGap = lambda _: None) -> None:
        """Call `handle` for each record of a topic (name without prefix), in order, then count it as done.

        `find_gap`: what is missing before a record; unless retention has deleted it, the record is not handled, and the
        process must end.
        """
        source = self.topic(
            self.odradek_settings.topic(topic),
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            maxsize=BUFFERED_BATCHES,
        )

        async def each(stream: Any) -> None:
            async for record in _records(stream):
                try:
                    gap = find_gap(record)
                    if gap is not None:
                        await deleted(gap, record.topic, self.consumer.earliest_offsets)
                    handle(record)
                except Exception as error:  # noqa: BLE001  (Faust would acknowledge the batch and go on)
                    if not self.failure.done():
                        self.failure.set_exception(error)
                    await asyncio.Event().wait()

        self.agent(source, name=topic)(each)

    @property
    def outgoing(self) -> AcknowledgedProducer:
        """Faust's producer, which is ours."""
        return cast(AcknowledgedProducer, self.producer)

    @property
    def owned_partitions(self) -> set[int]:
        """Frontier partitions that are assigned to this process."""
        frontier = self.odradek_settings.topic(FRONTIER)
        return {tp.partition for tp in self.consumer.assignment() if tp.topic == frontier}

    @property
    def unread_partitions(self) -> set[int]:
        """Of those, partitions whose changelogs are not all assigned with them, so that nobody has read them."""
        assigned, topics = self.consumer.assignment(), self.frontier_tables.changelogs
        return {each for each in self.owned_partitions if not all(TP(topic, each) in assigned for topic in topics)}

    @property
    def at_rest(self) -> bool:
        """True while no rebalance and no recovery is under way."""
        return not (self.rebalancing or self.in_recovery or self.overtaken or self.should_stop)

    @property
    def overtaken(self) -> bool:
        """True when another rebalance has begun since the assignment whose tables are recovered."""
        tables: Any = self.tables
        return bool(tables.recovery.overtaken)

    def _new_transport(self) -> Any:
        return Transport(self.conf.broker_consumer, self)

    def _new_producer(self) -> Any:
        return AcknowledgedProducer(
            self.transport,
            settings=self.odradek_settings,
            acknowledged=self.frontier_tables.acknowledged,
            loop=self.loop,
            beacon=self.beacon,
        )


def create_app(settings: Settings, folder: StateFolder, partitions: int) -> SchedulerApp:
    """A Faust application on a running event loop; `partitions`: of the frontier, as the brokers say."""
    app = SchedulerApp(settings, folder, partitions)
    app.finalize()
    return app


async def deleted(gap: Gap, topic: str, earliest: Callable[[TP], Awaitable[Mapping[TP, int]]]) -> None:
    """Make sure that what is missing is not in the log any more; `earliest`: where the log of a partition begins.

    Faust may hand out a record that was on its way while the partition was sought back to its last commit, and then
    drops those before it as if they had been read.

    Raises:
        InfrastructureAway: it is there; to go on behind it would lose it, to begin again from the last commit does not.
    """
    place = TP(topic, gap.partition)
    begins = (await earliest(place))[place]
    if begins < gap.next_read:
        raise InfrastructureAway(f"offset {gap.next_read} of {topic}-{gap.partition} came before {gap.first_missing}")


async def _records(stream: Any) -> AsyncIterator[Record]:
    async for event in stream.events():
        message = event.message
        tp: TP = message.tp
        yield Record(
            topic=tp.topic,
            partition=tp.partition,
            offset=message.offset,
            key=message.key,
            value=message.value,
            headers=tuple(message.headers or ()),
            timestamp_ms=int((message.timestamp or 0) * 1000),
        )


def _options(settings: Settings, folder: StateFolder) -> dict[str, Any]:
    session_s = settings.session_timeout
    return {
        "broker": broker_urls(settings),
        "broker_credentials": credentials(settings),
        "broker_session_timeout": session_s,
        "broker_heartbeat_interval": min(session_s / 5, 1.0),
        "broker_rebalance_timeout": max(session_s, 30.0),
        "broker_request_timeout": max(session_s * 2, 40.0),
        "broker_commit_interval": COMMIT_EVERY_S,
        "broker_commit_every": 1_000_000,
        "consumer_max_fetch_size": 4 * 1024 * 1024,
        "consumer_group_instance_id": folder.member,
        "datadir": folder.path,
        "store": "memory://",
        "processing_guarantee": "at_least_once",
        "stream_buffer_maxsize": BUFFERED_BATCHES,
        "table_standby_replicas": 0,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
        "autodiscover": False,
        "TableManager": PromptTableManager,
    }
