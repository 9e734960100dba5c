"""A group with another name goes on where the former one was."""

from confluent_kafka import Consumer, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.kafka.groups import take_over_offsets
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, committed, put
from odradek.topics import GROUPS, ITEMS, LOGS


def commit(settings: Settings, group: str, topic: str, offset: int) -> None:
    consumer = Consumer(consumer_config(settings, settings.group(group)))
    consumer.commit(offsets=[TopicPartition(settings.topic(topic), 0, offset)], asynchronous=False)
    consumer.close()


def test_the_new_groups_begin_where_the_former_one_was_and_never_go_back() -> None:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, *(Send(topic, "k", b"{}") for topic in (ITEMS, LOGS) for _ in range(9)))
        commit(settings, "indexer", ITEMS, 5)
        commit(settings, "indexer", LOGS, 7)
        commit(settings, GROUPS[LOGS], LOGS, 9)

        take_over_offsets(settings, "indexer", (ITEMS, LOGS))

        assert committed(settings, GROUPS[ITEMS], ITEMS) == {0: 5}
        assert committed(settings, GROUPS[LOGS], LOGS) == {0: 9}


def test_without_a_former_group_nothing_is_committed() -> None:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, Send(ITEMS, "k", b"{}"))

        take_over_offsets(settings, "indexer", (ITEMS, LOGS))

        assert committed(settings, GROUPS[ITEMS], ITEMS) == {}
