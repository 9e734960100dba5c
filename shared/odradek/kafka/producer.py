"""Sending a stage: produced together, and awaited until Kafka has acknowledged every message of it."""

import asyncio
from collections.abc import Iterable, Sequence
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

SOON_S = 0.003
LATER_S = 0.05
"""Between two looks for delivery reports, at first and at last: what is not answered soon takes long."""
IDLE_S = 1.0
"""The same while nothing is being sent: librdkafka has words for the log."""
FULL_S = 0.02
"""Between two tries while librdkafka's queue is full."""
_SCHEMA = schema_header()


class _Acknowledgements:
    """Counts the answers for one stage."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.error: KafkaError | None = None

    def __call__(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self.error = error
        self.left -= 1


class StageProducer:
    """The producer of one process. `send` may be called from many tasks of one event loop.

    Delivery reports are fetched by who waits for them: a thread of their own would have to get hold of the interpreter
    for every single one, from under a loop that is busy.
    """

    def __init__(self, settings: Settings, *, config: dict[str, Any] | None = None) -> None:
        self._settings = settings
        self._producer = Producer(producer_config(settings) | (config or {}))
        self._partitions: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._closed = False
        self._serving = False

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
        if not self._serving:
            self._serving = True
            self._serve(asyncio.get_running_loop())
        acknowledgements = _Acknowledgements(len(everything))
        for send in everything:
            while not self._produced(send, acknowledgements):
                self._producer.poll(0)
                await asyncio.sleep(FULL_S)
        wait_s = SOON_S
        while acknowledgements.left:
            await asyncio.sleep(wait_s)
            self._producer.poll(0)
            wait_s = min(wait_s * 1.2, LATER_S)
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
        self._closed = True
        return left

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Also when nobody sends."""
        if not self._closed:
            self._producer.poll(0)
            loop.call_later(IDLE_S, self._serve, loop)
