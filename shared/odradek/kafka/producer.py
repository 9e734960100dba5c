"""Sending a stage: produced together, and awaited until Kafka has acknowledged every message of it."""

import asyncio
from collections.abc import Iterable, Sequence
from threading import Event, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.contracts import schema_header
from odradek.errors import InfrastructureAway
from odradek.kafka.client import producer_config
from odradek.kafka.packing import pack
from odradek.kafka.records import Send, ToFrontier
from odradek.settings import Settings
from odradek.topics import FRONTIER
from odradek.urls import partition_of

POLL_S = 0.2
"""A delivery report ends the wait at once; only the end of the process has to wait so long."""
FULL_S = 0.02
"""Between two tries while librdkafka's queue is full."""
_SCHEMA = schema_header()


class _Acknowledgements:
    """Counts the answers for one stage; tells the event loop when the last one is in."""

    def __init__(self, expected: int, loop: asyncio.AbstractEventLoop) -> None:
        self.left = expected
        self.error: KafkaError | None = None
        self.done: asyncio.Future[None] = loop.create_future()
        self._loop = loop

    def __call__(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self.error = error
        self.left -= 1
        if self.left == 0 and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class StageProducer:
    """The producer of one process. `send` may be called from many tasks; delivery reports come on a thread."""

    def __init__(self, settings: Settings, *, config: dict[str, Any] | None = None) -> None:
        self._settings = settings
        self._producer = Producer(producer_config(settings) | (config or {}))
        self._partitions: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._closing = Event()
        self._thread = Thread(target=self._poll, name="delivery-reports", daemon=True)
        self._thread.start()

    def partitions(self, topic: str) -> int:
        """Partition count of a topic (name without prefix), read from the broker once.

        Raises:
            InfrastructureAway: the broker does not answer, or has no such topic.
        """
        count = self._partitions.get(topic)
        if count is None:
            name = self._settings.topic(topic)
            try:
                found = self._producer.list_topics(name, timeout=10).topics[name]
            except KafkaException as error:
                raise InfrastructureAway(str(error)) from error
            if found.error is not None or not found.partitions:
                raise InfrastructureAway(f"the topic {name} does not exist; run odradek topics")
            count = self._partitions[topic] = len(found.partitions)
        return count

    async def send(self, sends: Iterable[Send] = (), facts: Sequence[ToFrontier] = ()) -> None:
        """Produce all, packing facts into batches, and wait for every acknowledgement.

        Raises:
            InfrastructureAway: Kafka did not take a message within the delivery timeout.
        """
        everything = list(sends)
        if facts:
            everything += pack(facts, self.partitions(FRONTIER))
        if not everything:
            return
        loop = asyncio.get_running_loop()
        acknowledgements = _Acknowledgements(len(everything), loop)
        for send in everything:
            while not self._produced(send, acknowledgements):  # noqa: ASYNC110  (librdkafka tells only who polls)
                await asyncio.sleep(FULL_S)
        await acknowledgements.done
        if acknowledgements.error is not None:
            raise InfrastructureAway(acknowledgements.error.str())

    def _produced(self, send: Send, acknowledgements: _Acknowledgements) -> bool:
        """Hand a message to librdkafka; False when its queue is full."""
        topic, partition = send.topic, send.partition
        if partition is None:
            partition = partition_of(send.key, self.partitions(topic))
        name = self._names.get(topic)
        if name is None:
            name = self._names[topic] = self._settings.topic(topic)
        headers: list[tuple[str, str | bytes | None]] = [_SCHEMA, *send.headers]
        try:
            self._producer.produce(
                name,
                value=send.value,
                key=send.key.encode(),
                partition=partition,
                headers=headers,
                on_delivery=acknowledgements,
            )
        except BufferError:
            return False
        return True

    def close(self, deadline_s: float = 10.0) -> int:
        """Flush what is queued; returns how many messages were left."""
        left = int(self._producer.flush(deadline_s))
        self._closing.set()
        self._thread.join(timeout=1)
        return left

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(POLL_S)
