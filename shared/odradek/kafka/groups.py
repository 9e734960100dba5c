"""A consumer group that got another name goes on where it was."""

from collections.abc import Iterable

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek.topics import GROUPS

TIMEOUT_S = 10.0
log = structlog.get_logger()


def take_over_offsets(settings: Settings, former: str, topics: Iterable[str]) -> None:
    """Give the groups of these topics what a former group has committed there, unless they have committed themselves.

    Members of the former group that still run read what the new groups read too, so this is for handlers that may see
    a record twice. Kafka forgets the former group by itself, a week after its last member has left.

    Raises:
        InfrastructureAway: the brokers do not answer.
    """
    before = Consumer(consumer_config(settings, settings.group(former)))
    try:
        for topic in topics:
            left = _committed(before, settings.topic(topic))
            if left:
                _give(settings, settings.group(GROUPS[topic]), left)
    except KafkaException as error:
        raise InfrastructureAway(str(error)) from error
    finally:
        before.close()


def _committed(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """Nothing for a topic that does not exist yet."""
    found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
    parts = [TopicPartition(topic, partition) for partition in found.partitions] if found.error is None else []
    return [part for part in consumer.committed(parts, timeout=TIMEOUT_S) if part.offset >= 0] if parts else []


def _give(settings: Settings, group: str, offsets: list[TopicPartition]) -> None:
    topic = offsets[0].topic
    consumer = Consumer(consumer_config(settings, group))
    try:
        if _committed(consumer, topic):
            return
        consumer.commit(offsets=offsets, asynchronous=False)
        log.info("offsets_taken_over", group=group, topic=topic)
    except KafkaException as error:
        if error.args[0].retriable():
            raise
        log.info("offsets_not_taken_over", group=group, topic=topic, error=str(error))  # another member was faster
    finally:
        consumer.close()
