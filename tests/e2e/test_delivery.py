"""What the runner promises on Apache Kafka itself: when its group changes, when retention cuts, at the largest size."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
import pytest_asyncio
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests import embedded

from odradek.contracts import LogEvent, decode
from odradek.kafka.admin import apply_topics
from odradek.kafka.deadletter import MAX_VALUE_BYTES
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Record, Send
from odradek.kafka.runner import Runner, Window
from odradek.settings import Settings
from odradek.testing.broker import committed, everything_in, put
from odradek.topics import LOGS, PAGES, SCHEDULED

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SERVICE, PARTITIONS, RECORDS = "fetcher", 4, 1200


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with embedded.kafka(tmp_path_factory.mktemp("delivery")) as address:
        yield address


@pytest.fixture
def settings(kafka: str, request: pytest.FixtureRequest) -> Settings:
    """A stack of its own for each test."""
    settings = Settings(
        kafka_bootstrap=kafka,
        partitions=PARTITIONS,
        session_timeout=6.0,
        topic_prefix=f"{request.node.name[5:25]}.",
    )
    apply_topics(settings)
    return settings


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


async def test_what_retention_cut_is_reported_as_a_gap_and_reading_goes_on(settings: Settings) -> None:
    await asyncio.to_thread(put, settings, *(Send(SCHEDULED, "k", b"") for _ in range(10)))
    producer, handled = StageProducer(settings), []

    async def handle(record: Record) -> Done:
        handled.append(record.offset)
        return Done(record)

    async def run(until_handled: int) -> None:
        stop, runner = asyncio.Event(), Runner(settings, SERVICE, SCHEDULED, producer, Window(64))
        running = asyncio.create_task(runner.run_each(handle, stop, 4))
        await until(lambda: until_handled in handled)
        stop.set()
        await running

    await run(until_handled=9)
    await asyncio.to_thread(put, settings, *(Send(SCHEDULED, "k", b"") for _ in range(20)))
    name = settings.topic(SCHEDULED)
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    cut = admin.delete_records([TopicPartition(name, 0, 25)])
    await asyncio.to_thread(next(iter(cut.values())).result, 20)
    await run(until_handled=29)
    producer.close()

    (event,) = [
        decode(LogEvent, record.value or b"") for record in await asyncio.to_thread(everything_in, settings, LOGS)
    ]
    assert event.event.action == "gap"
    assert event.labels == {"topic": name, "partition": "0", "first_missing": "10", "next_read": "25"}
    assert handled == [*range(10), *range(25, 30)]
    assert committed(settings, SERVICE, SCHEDULED)[0] == 30


async def test_the_largest_message_that_is_let_out_arrives(settings: Settings) -> None:
    body, producer, seen, stop = os.urandom(MAX_VALUE_BYTES), StageProducer(settings), [], asyncio.Event()

    async def handle(records: Sequence[Record]) -> list[Done]:
        seen.extend(record.value == body for record in records)
        return [Done(record) for record in records]

    await producer.send([Send(PAGES, "k", body, headers=(("page", b"m" * 64 * 1024),))])
    runner = Runner(settings, "parser", PAGES, producer, Window(64))
    running = asyncio.create_task(runner.run_batches(handle, stop, 10))
    await until(lambda: runner.finished == 1)
    stop.set()
    await running
    producer.close()
    assert seen == [True]
