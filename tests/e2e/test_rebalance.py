"""What the runner promises when its group changes, on Apache Kafka itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from odradek.engines.kafka import kafka_engine
from odradek.kafka.admin import apply_topics
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Record, Send
from odradek.kafka.runner import Runner, Window
from odradek.runtime.supervisor import Child, Supervisor
from odradek.settings import Settings
from odradek.testing.broker import committed, put
from odradek.topics import SCHEDULED

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SERVICE, PARTITIONS, RECORDS = "fetcher", 4, 1200


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    engine = kafka_engine(tmp_path / "kafka")
    supervisor = Supervisor(tmp_path / "logs")
    await supervisor.start(Child(engine.name, engine.command, engine.ready, engine.env))
    settings = Settings(kafka_bootstrap=engine.address, partitions=PARTITIONS, session_timeout=6.0)
    await asyncio.to_thread(apply_topics, settings)
    yield settings
    await supervisor.stop()


async def until(condition: Callable[[], bool], within_s: float = 40.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  (the other side is a thread or a broker, which sets no event)
            await asyncio.sleep(0.01)


async def test_a_member_that_joins_and_one_that_leaves_cost_no_record_and_no_second_handling(
    settings: Settings,
) -> None:
    places = [(number % PARTITIONS, number // PARTITIONS) for number in range(RECORDS)]
    await asyncio.to_thread(put, settings, *(Send(SCHEDULED, "k", b"", partition=part) for part, _ in places))
    handled: list[list[tuple[int, int]]] = [[], []]

    def handler(member: int) -> Callable[[Record], Awaitable[Done]]:
        async def handle(record: Record) -> Done:
            await asyncio.sleep(0.2)
            handled[member].append((record.partition, record.offset))
            return Done(record)

        return handle

    producer = StageProducer(settings)
    members = [Runner(settings, SERVICE, SCHEDULED, producer, Window(64)) for _ in range(2)]
    stops = [asyncio.Event(), asyncio.Event()]

    def joined(number: int) -> asyncio.Task[None]:
        return asyncio.create_task(members[number].run_each(handler(number), stops[number], 16))

    first = joined(0)
    await until(lambda: members[0].finished > 0)
    second = joined(1)
    await until(lambda: members[1].finished > 100)
    stops[0].set()
    await first
    await until(lambda: members[0].finished + members[1].finished >= RECORDS)
    stops[1].set()
    await second
    producer.close()

    assert sorted(handled[0] + handled[1]) == sorted(places)
    assert committed(settings, SERVICE, SCHEDULED) == dict.fromkeys(range(PARTITIONS), RECORDS // PARTITIONS)
