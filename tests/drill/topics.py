"""Faults of what lies in Kafka: cut off, delivered again from the beginning, poisoned, written by an older version."""

import asyncio
import json
import random
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from tests.contract.samples import GOLDEN
from tests.drill.world import RECOVERY_S, World, until

from odradek.contracts import PAGE_HEADER
from odradek.errors import InfrastructureAway
from odradek.kafka.client import connection_config, consumer_config
from odradek.kafka.records import Record, Send, record_of
from odradek.testing.broker import put
from odradek.topics import DEAD_LETTERS, FRONTIER, GROUPS, ITEMS, LOGS, PAGES, SCHEDULED, TOPICS

READ_BY: Final = {
    "scheduler": (FRONTIER,),
    "fetcher": (SCHEDULED,),
    "parser": (PAGES,),
    "indexer": (ITEMS, LOGS, DEAD_LETTERS),
}
WORKED: Final = (FRONTIER, SCHEDULED, PAGES, ITEMS, LOGS)
"""What cannot be read here becomes a dead letter."""
GARBAGE: Final = (b"", b"\xff\x00\xfe", b"{}", b"[" * 5000, b'{"job": 1, "facts": "none"}', b'{"job": "cut o')
OLD: Final = {SCHEDULED: "FetchRequest", ITEMS: "Item", LOGS: "LogEvent", PAGES: "PageMeta"}
NEWEST = 10
"""Records of each partition that are written again as an older version would have."""
CUT_AT_LEAST = 5


async def retention(world: World, topic: str, _: random.Random) -> None:
    """Records that nobody has read are cut off: the readers were down for longer than they were kept (rule M)."""
    readers = world.stack.members("parser" if topic == PAGES else "fetcher")
    await world.stack.take_down(*readers)

    async def unread() -> int | None:
        left = await asyncio.to_thread(world.unfinished)
        lies = sum(end - offset for (name, _), (offset, end) in left.items() if name == topic)
        return lies if lies >= CUT_AT_LEAST else None

    cut = await until(unread, RECOVERY_S, f"nothing comes to lie in {topic}")
    await asyncio.to_thread(cut_off, world, topic)
    world.foreseen.gaps[topic] += 1
    world.remarks.append(f"{cut} records were cut off unread")
    await world.stack.bring_up(*readers)


def cut_off(world: World, topic: str) -> None:
    """Delete all that lies in a topic."""
    ends = world.ends.end_offsets(topic)
    admin = AdminClient(connection_config(world.settings))
    places = [TopicPartition(world.settings.topic(topic), partition, end) for partition, end in ends.items()]
    for future in admin.delete_records(places).values():
        future.result(timeout=20)


async def again(world: World, service: str, _: random.Random) -> None:
    """Everything a service has read in this round is delivered to it again, from the first offset that is left."""
    members = world.stack.members(service)
    await world.stack.take_down(*members)
    for topic in READ_BY[service]:
        bounds = await world.asked(lambda topic=topic: world.ends.bounds(topic))  # type: ignore[misc]  # no types of defaults
        await until(lambda topic=topic, bounds=bounds: _rewound(world, topic, bounds), RECOVERY_S, "no new offsets")  # type: ignore[misc]  # as above
        world.remarks.append(f"{sum(end - first for first, end in bounds.values())} records of {topic} again")
    await world.stack.bring_up(*members)


async def _rewound(world: World, topic: str, bounds: dict[int, tuple[int, int]]) -> bool | None:
    name, group = world.settings.topic(topic), world.settings.group(GROUPS[topic])
    places = [TopicPartition(name, partition, first) for partition, (first, _) in bounds.items()]
    admin = AdminClient(connection_config(world.settings))
    wanted = ConsumerGroupTopicPartitions(group, places)
    try:
        for future in admin.alter_consumer_group_offsets([wanted]).values():
            await asyncio.to_thread(future.result, 20)
    except KafkaException as error:  # the group still counts on its members
        raise InfrastructureAway(str(error)) from error
    return True


async def poison(world: World, _: str, rng: random.Random) -> None:
    """Bytes that are no message, in every topic there is."""
    for topic in TOPICS.values():
        partitions = topic.partitions or world.settings.partitions
        values = [*GARBAGE, rng.randbytes(200)]
        sends = [_poison(topic.name, value, rng.randrange(partitions), rng) for value in values]
        await asyncio.to_thread(put, world.settings, *sends)
        if topic.name in WORKED:
            world.foreseen.dead_letters[topic.name] += len(sends)
        elif topic.name == DEAD_LETTERS:
            world.foreseen.dead_letters[""] += len(sends)


def _poison(topic: str, value: bytes, partition: int, rng: random.Random) -> Send:
    headers = ((PAGE_HEADER, value),) if topic == PAGES else ()
    return Send(topic, f"poison-{rng.randrange(2**32):x}", value, headers=headers, partition=partition)


async def old_version(world: World, _: str, __: random.Random) -> None:
    """The newest messages come again in the form that the first version gave them, without what was added since."""
    count = 0
    for topic in (FRONTIER, *OLD):
        records = await asyncio.to_thread(newest, world, topic)
        sends = [old_form(topic, record) for record in records]
        await asyncio.to_thread(put, world.settings, *sends)
        count += len(sends)
    world.remarks.append(f"{count} messages in their oldest form")


def newest(world: World, topic: str) -> list[Record]:
    """The last records of each partition."""
    bounds = world.ends.bounds(topic)
    name = world.settings.topic(topic)
    starts = [TopicPartition(name, partition, max(first, end - NEWEST)) for partition, (first, end) in bounds.items()]
    wanted = sum(bounds[start.partition][1] - start.offset for start in starts)
    consumer = Consumer(consumer_config(world.settings, "drill") | {"partition.assignment.strategy": "range"})
    consumer.assign(starts)
    found: list[Record] = []
    try:
        while len(found) < wanted:
            got = [record_of(message) for message in consumer.consume(wanted, 1.0) if message.error() is None]
            if not got:
                break
            found += got
    finally:
        consumer.close()
    return found


def old_form(topic: str, record: Record) -> Send:
    """A message with the fields of its oldest golden sample alone, and no schema header."""
    value, headers = record.value, record.headers
    if topic == PAGES:
        page = json.dumps(pruned("PageMeta", json.loads(record.header(PAGE_HEADER) or b"null")))
        headers = ((PAGE_HEADER, page.encode()),)
    elif topic == FRONTIER and value is not None:
        facts = [pruned(fact["fact"], fact) | {"fact": fact["fact"]} for fact in json.loads(value)["facts"]]
        value, headers = json.dumps({"facts": facts}).encode(), ()
    elif value is not None:
        value, headers = json.dumps(pruned(OLD[topic], json.loads(value))).encode(), ()
    key = (record.key or b"").decode(errors="replace")
    return Send(topic, key, value, headers=headers, partition=record.partition)


def pruned(kind: str, message: Any) -> Any:
    """What of a message its first version had."""
    return _like(json.loads((GOLDEN / f"{kind}.v1.json").read_bytes()), message)


def _like(sample: Any, value: Any) -> Any:
    """`value` without the fields that `sample` does not have; what is data (a key `k`) is left alone."""
    if not (isinstance(sample, dict) and isinstance(value, dict)) or "k" in sample:
        return value
    return {name: _like(sample[name], each) for name, each in value.items() if name in sample}
