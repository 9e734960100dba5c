"""How far a topic goes and how far a group has come: the two numbers behind lag, take-over and completion."""

from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.settings import Settings

TIMEOUT_S = 10.0


class Ends:
    """Asks the brokers for end offsets and committed offsets. Blocking: call it from a thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumers: dict[str, Consumer] = {}

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset after the last record, by partition.

        Raises:
            InfrastructureAway: the broker does not answer in time.
        """
        return {partition: end for partition, (_, end) in self.bounds(topic).items()}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """The offset of the oldest record that is still there and the one after the last, by partition.

        Raises:
            InfrastructureAway: the broker does not answer in time.
        """
        consumer = self._consumer("view")
        try:
            return {
                part.partition: consumer.get_watermark_offsets(part, timeout=TIMEOUT_S, cached=False)
                for part in self._parts(consumer, topic)
            }
        except KafkaException as error:
            raise InfrastructureAway(str(error)) from error

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """What a group (named without prefix) has committed, by partition; 0 where it never did.

        Raises:
            InfrastructureAway: the broker does not answer in time.
        """
        consumer = self._consumer(group)
        try:
            found = consumer.committed(self._parts(consumer, topic), timeout=TIMEOUT_S)
        except KafkaException as error:
            raise InfrastructureAway(str(error)) from error
        return {part.partition: max(part.offset, 0) for part in found}

    def passed(self, group: str, topic: str, ends: dict[int, int]) -> bool:
        """True when the group has committed up to these ends."""
        committed = self.committed(group, topic)
        return all(committed.get(partition, 0) >= end for partition, end in ends.items())

    def close(self) -> None:
        """Let the connections go."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _consumer(self, group: str) -> Consumer:
        if group not in self._consumers:
            self._consumers[group] = Consumer(consumer_config(self._settings, self._settings.group(group)))
        return self._consumers[group]

    def _parts(self, consumer: Consumer, topic: str) -> list[TopicPartition]:
        name = self._settings.topic(topic)
        found = consumer.list_topics(name, timeout=TIMEOUT_S).topics[name]
        if found.error is not None:
            raise InfrastructureAway(f"the topic {name} does not exist; run odradek topics")
        return [TopicPartition(name, partition) for partition in sorted(found.partitions)]
