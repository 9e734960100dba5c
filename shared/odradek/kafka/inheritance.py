"""Which records were there before their partition became ours: another may have handled them, or begun to.

Used from the consumer's thread only.
"""

from collections.abc import Iterable
from typing import Final

import structlog
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

log = structlog.get_logger()

ASK_S: Final = 5.0
_UNKNOWN: Final = 1 << 62


class Inheritance:
    """Ends of partitions when they became ours, until records beyond are read: then nothing of it is left."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._ends: dict[int, int] = {}

    def gained(self, partitions: Iterable[int]) -> None:
        """These are ours from now on; as long as their ends are not known, all they hold is inherited."""
        self._ends |= dict.fromkeys(partitions, _UNKNOWN)

    def ends_at(self, partition: int, end: int) -> None:
        """The end of a partition, learnt since it became ours."""
        if partition in self._ends:
            self._ends[partition] = end

    def lost(self, partitions: Iterable[int]) -> None:
        """These are ours no longer."""
        for partition in partitions:
            self._ends.pop(partition, None)

    def has(self, message: Message) -> bool:
        """True if the message was there before."""
        if not self._ends:
            return False
        partition = message.partition() or 0
        inherited = (message.offset() or 0) < self._ends.get(partition, 0)
        if not inherited:
            self._ends.pop(partition, None)
        return inherited

    def learn(self, consumer: Consumer) -> None:
        """Ask for the ends that could not be learnt when partitions became ours."""
        for partition in [partition for partition, end in self._ends.items() if end == _UNKNOWN]:
            try:
                _, self._ends[partition] = consumer.get_watermark_offsets(
                    TopicPartition(self._topic, partition), timeout=ASK_S
                )
            except KafkaException as error:
                log.warning("end_unknown", topic=self._topic, partition=partition, error=str(error))
                return
