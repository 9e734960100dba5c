"""Faults of processes: killed, stopped for longer than their session, joined by others, without their tables."""

import asyncio
import random
import shutil
import signal

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs re-export without saying so
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tests.drill.plan import drawn
from tests.drill.stack import SESSION_S
from tests.drill.world import NotInjected, World

from odradek.kafka.client import connection_config, consumer_config
from odradek_scheduler.core.tables import TABLE_NAMES
from odradek_scheduler.layout import changelog_config, changelog_name

CHANGES, EVERY_S = 4, 3.0
"""Members that join and leave in a storm, and how often."""
COMPACTION_S = 20.0
FULL_S = 6.0


async def kill(world: World, target: str, rng: random.Random) -> None:
    """SIGKILL, all in the same instant; the supervisor starts them again."""
    for name in drawn(target, world.stack.members, rng):
        world.kill(name)


async def freeze(world: World, target: str, rng: random.Random) -> None:
    """SIGSTOP for longer than the session, then SIGCONT: a process that does not know that others have its work."""
    (name,) = drawn(target, world.stack.members, rng)
    world.stop(name)
    await asyncio.sleep(SESSION_S + 2)
    world.stack.signal(name, signal.SIGCONT)


async def storm(world: World, target: str, _: random.Random) -> None:
    """Replicas that join and leave every few seconds."""
    for _again in range(CHANGES // 2):
        name = await world.stack.join(target)
        await asyncio.sleep(EVERY_S)
        await world.stack.leave(name)
        await asyncio.sleep(EVERY_S / 2)


async def crowd(world: World, target: str, _: random.Random) -> None:
    """More workers than partitions, for a while."""
    more = world.settings.partitions - len(world.stack.members(target)) + 1
    names = await asyncio.gather(*(world.stack.join(target) for _ in range(more)))
    await asyncio.sleep(EVERY_S)
    await asyncio.gather(*(world.stack.leave(name) for name in names))


async def wipe(world: World, target: str, rng: random.Random) -> None:
    """The whole state folder of schedulers is deleted under them, and they are killed."""
    names = drawn(target, world.stack.members, rng)
    for name in names:
        world.stack.signal(name, signal.SIGSTOP)
    lost = 0
    for name in names:
        folder = world.settings.state_dir / "scheduler" / name.rpartition("-")[2]
        lost += sum(1 for _ in folder.glob("tables/partition-*"))
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        world.kill(name)
    if not lost:
        raise NotInjected(f"there were no tables of {target}")
    world.remarks.append(f"the tables of {lost} partitions")


async def compact(world: World, _: str, rng: random.Random) -> None:
    """Kafka compacts the changelogs as hard as it can; then all schedulers lose their tables."""
    settings = world.settings
    topics = [changelog_name(settings, table) for table in TABLE_NAMES]
    hard = {
        "min.compaction.lag.ms": "0", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    }  # fmt: skip
    await asyncio.to_thread(_configure, world, topics, hard)
    await asyncio.sleep(COMPACTION_S)
    ledger = changelog_name(settings, "ledger").removeprefix(settings.topic_prefix)
    left = await asyncio.to_thread(_records_in, world, ledger)
    written = sum((await asyncio.to_thread(world.ends.end_offsets, ledger)).values())
    world.remarks.append(f"{left} records left of {written} in the ledger's changelog")
    if left >= written:
        raise NotInjected("Kafka has compacted nothing")
    await wipe(world, "scheduler+scheduler", rng)
    gentle = {"segment.ms": "604800000", "min.cleanable.dirty.ratio": "0.5", "delete.retention.ms": "86400000"}
    gentle |= changelog_config()
    await asyncio.to_thread(_configure, world, topics, {name: gentle[name] for name in hard})


def _records_in(world: World, topic: str) -> int:
    """Counted up to the end it has now: offsets say nothing of a compacted topic."""
    ends = world.ends.end_offsets(topic)
    consumer = Consumer(consumer_config(world.settings, "drill") | {"partition.assignment.strategy": "range"})
    places = [TopicPartition(world.settings.topic(topic), partition, 0) for partition in ends]
    consumer.assign(places)
    count, reached = 0, dict.fromkeys(ends, 0)
    try:
        while any(reached[partition] < end for partition, end in ends.items()):
            messages = [each for each in consumer.consume(1000, 2.0) if each.error() is None]
            if not messages:
                break
            count += sum((each.offset() or 0) < ends[each.partition() or 0] for each in messages)
            reached |= {each.partition() or 0: (each.offset() or 0) + 1 for each in messages}
    finally:
        consumer.close()
    return count


def _configure(world: World, topics: list[str], values: dict[str, str]) -> None:
    admin = AdminClient(connection_config(world.settings))
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in values.items()]
    resources = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries) for topic in topics]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(timeout=20)


async def disk_full(world: World, _: str, __: random.Random) -> None:
    """Not a block left in the file system of the state folder, for some seconds."""
    assert world.disk is not None, "planned although no disk could be mounted"
    await asyncio.to_thread(world.disk.fill)
    await asyncio.sleep(FULL_S)
    await asyncio.to_thread(world.disk.widen)
