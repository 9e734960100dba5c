"""A Kafka broker inside the test process: librdkafka's own mock cluster, without Java and without a port to choose.

It speaks produce, fetch, groups, commits and transactions. Topics appear when they are first named, with
`MOCK_PARTITIONS` partitions; it creates, compacts and deletes nothing, and to join a group takes 3 to 5 seconds.
"""

import logging
import time
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.kafka.records import Record, Send, record_of
from odradek.settings import Settings

MOCK_PARTITIONS = 4

log = logging.getLogger("librdkafka")


class MockBroker:
    """One broker for as long as the `with` lasts."""

    def __init__(self) -> None:
        self._owner = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "logger": log})
        brokers = self._owner.list_topics(timeout=5).brokers.values()
        self.address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        del self._owner

    def settings(self, **environ: str) -> Settings:
        """Settings that lead here; keyword `drain="1s"` is the variable ODRADEK_DRAIN."""
        own = {f"ODRADEK_{name.upper()}": value for name, value in environ.items()}
        return Settings.read({"ODRADEK_KAFKA_BOOTSTRAP": self.address, "ODRADEK_SESSION_TIMEOUT": "6s"} | own)


def put(settings: Settings, *sends: Send) -> None:
    """Produce these and wait; a send without partition goes to partition 0."""
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "logger": log})
    for send in sends:
        producer.produce(
            settings.topic(send.topic),
            value=send.value,
            key=send.key.encode(),
            partition=send.partition or 0,
            headers=list(send.headers),
        )
    left = producer.flush(10)
    if left:
        raise TimeoutError(f"{left} messages were not taken by {settings.kafka_bootstrap}")


def everything_in(settings: Settings, topic: str, *, at_least: int = 0, within_s: float = 10.0) -> list[Record]:
    """All records of a topic (name without prefix), by partition and offset; waits until there are `at_least`.

    Raises:
        TimeoutError: there were fewer when the time was over.
    """
    deadline = time.monotonic() + within_s
    consumer = Consumer(consumer_config(settings, "everything") | {"partition.assignment.strategy": "range"})
    try:
        while True:
            records = _read_all(consumer, settings.topic(topic))
            if len(records) >= at_least:
                return sorted(records, key=lambda record: (record.partition, record.offset))
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(records)} of {at_least} records in {topic}")
    finally:
        consumer.close()


def committed(settings: Settings, group: str, topic: str) -> dict[int, int]:
    """What a group (named without prefix) has committed, by partition; partitions without commit are left out."""
    consumer = Consumer(consumer_config(settings, settings.group(group)))
    try:
        name = settings.topic(topic)
        known = consumer.list_topics(name, timeout=5).topics[name].partitions
        parts = [TopicPartition(name, partition) for partition in known]
        return {part.partition: part.offset for part in consumer.committed(parts, timeout=5) if part.offset >= 0}
    finally:
        consumer.close()


def _read_all(consumer: Consumer, topic: str) -> list[Record]:
    partitions = consumer.list_topics(topic, timeout=5).topics[topic].partitions
    ends = {part: consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=5)[1] for part in partitions}
    consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part, end in ends.items() if end > 0])
    records: list[Record] = []
    while len(records) < sum(ends.values()):
        records += [record_of(message) for message in consumer.consume(500, timeout=0.1) if message.error() is None]
    return records
