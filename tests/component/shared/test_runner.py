"""The delivery laws of the runner, on a broker in this process. Joining a group takes seconds: one join a test."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.contracts import Batch, LogEvent, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Poison, Record, Send, Stage, ToFrontier
from odradek.kafka.runner import Runner, Window
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.testing.records import a_parsed
from odradek.topics import DEAD_LETTERS, FRONTIER, ITEMS, LOGS, PAGES, SCHEDULED

SERVICE = "fetcher"


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker() as broker:
        yield broker


@asynccontextmanager
async def running(
    settings: Settings,
    handle: Callable[..., object],
    *,
    batches: int = 0,
    waits_s: tuple[float, float] = (0.0, math.inf),
    window: int = 100,
    producer: object = None,
) -> AsyncIterator[tuple[Runner, asyncio.Event]]:
    """A runner on the requests' topic; when the block ends it is told to stop and waited for."""
    sender = producer or StageProducer(settings)
    runner, stop = Runner(settings, SERVICE, SCHEDULED, sender, Window(window)), asyncio.Event()  # type: ignore[arg-type]
    each = runner.run_each(handle, stop, 8) if not batches else None  # type: ignore[arg-type]
    running = each or runner.run_batches(handle, stop, batches, *waits_s)  # type: ignore[arg-type]
    task = asyncio.create_task(running)
    try:
        yield runner, stop
    finally:
        stop.set()
        await task
        sender.close()  # type: ignore[attr-defined]


async def until(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  (the other side is a thread or a broker, which sets no event)
            await asyncio.sleep(0.01)


def requests(count: int) -> list[Send]:
    return [Send(SCHEDULED, f"k{number}", b"%d" % number) for number in range(count)]


async def test_stages_leave_in_order_each_acknowledged_before_the_next(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, *requests(20))
    seen_at_acknowledgement: dict[int, int] = {}

    async def handle(record: Record) -> Done:
        number = int(record.value or b"")

        def acknowledged() -> None:
            seen_at_acknowledgement[number] = len([each for each in pages() if each.key == record.key])

        page = Stage(sends=(Send(PAGES, f"k{number}", record.value, partition=0),), acknowledged=acknowledged)
        return Done(record, (page, Stage(facts=(ToFrontier("books.example", a_parsed(fp=f"{number:032x}")),))))

    def pages() -> list[Record]:
        return everything_in(settings, PAGES)

    async with running(settings, handle) as (runner, _):
        await until(lambda: runner.finished == 20)
    assert seen_at_acknowledgement == dict.fromkeys(range(20), 1)
    batches = [decode(Batch, record.value or b"") for record in everything_in(settings, FRONTIER)]
    assert sorted(int(fact.fp, 16) for batch in batches for fact in batch.facts) == list(range(20))  # type: ignore[union-attr]
    assert len(batches) < 20
    assert committed(settings, SERVICE, SCHEDULED) == {0: 20}


class _Refusing:
    """A producer to which Kafka acknowledges nothing on a topic until it is told to."""

    def __init__(self, settings: Settings, refused: str) -> None:
        self._real, self._refused, self.asked = StageProducer(settings), refused, 0

    async def send(self, sends: list[Send], facts: list[ToFrontier]) -> None:
        if any(send.topic == self._refused for send in sends):
            self.asked += 1
            raise InfrastructureAway("no acknowledgement")
        await self._real.send(sends, facts)

    def recover(self) -> None:
        self._refused = ""

    def close(self) -> None:
        self._real.close()


async def test_nothing_is_committed_before_every_stage_is_acknowledged(broker: MockBroker) -> None:
    settings = broker.settings(drain="1s")
    put(settings, *requests(3))
    producer = _Refusing(settings, ITEMS)

    async def handle(record: Record) -> Done:
        return Done(record, (Stage(sends=(Send(PAGES, "k", b""),)), Stage(sends=(Send(ITEMS, "k", b""),))))

    async with running(settings, handle, producer=producer) as (runner, _):
        await until(lambda: producer.asked >= 3)
        assert (runner.finished, runner.away) == (0, "no acknowledgement")
        assert committed(settings, SERVICE, SCHEDULED) == {}
        producer.recover()
        await until(lambda: runner.finished == 3)
        assert runner.away is None
    assert committed(settings, SERVICE, SCHEDULED) == {0: 3}
    assert len(everything_in(settings, PAGES)) == 3


async def test_records_that_finish_out_of_order_commit_the_low_water_mark_and_a_stop_drains_what_was_begun(
    broker: MockBroker,
) -> None:
    settings = broker.settings(drain="1s")
    put(settings, *requests(20))
    begun: set[int] = set()
    slow, never = asyncio.Event(), asyncio.Event()

    async def handle(record: Record) -> Done:
        begun.add(record.offset)
        if record.offset == 3:
            await slow.wait()
        if record.offset >= 6:
            await never.wait()
        return Done(record)

    async with running(settings, handle) as (runner, stop):
        await until(lambda: runner.finished == 5)
        await until(lambda: committed(settings, SERVICE, SCHEDULED) == {0: 3})
        stop.set()
        await until(runner.intake._stopping.is_set)
        slow.set()
    assert committed(settings, SERVICE, SCHEDULED) == {0: 6}
    assert begun == set(range(6 + 8 - 1))


async def test_poison_sends_its_terminal_facts_then_a_dead_letter_and_the_partition_moves_on(
    broker: MockBroker,
) -> None:
    settings = broker.settings()
    put(settings, *requests(10))

    async def handle(records: list[Record]) -> list[Done | Poison]:
        return [
            Poison(record, "poison", "number 4", (Stage(facts=(ToFrontier("h", a_parsed(outcome="failed")),)),))
            if record.value == b"4"
            else Done(record)
            for record in records
        ]

    async with running(settings, handle, batches=3) as (runner, _):
        await until(lambda: runner.finished == 10)
        assert runner.dead_letters == 1
    (dead,) = everything_in(settings, DEAD_LETTERS)
    assert (dead.value, dead.key, dead.header("reason")) == (b"4", b"odradek.scheduled-0-4", b"poison")
    (batch,) = everything_in(settings, FRONTIER)
    assert decode(Batch, batch.value or b"").facts == (a_parsed(outcome="failed"),)
    assert batch.timestamp_ms <= dead.timestamp_ms
    assert committed(settings, SERVICE, SCHEDULED) == {0: 10}


async def test_a_full_window_pauses_and_every_record_is_still_handled_once(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, *requests(300))
    handled: list[int] = []
    hold, most = asyncio.Event(), 0

    async def handle(records: list[Record]) -> list[Done]:
        nonlocal most
        most = max(most, runner.intake.in_hand)
        await hold.wait()
        handled.extend(record.offset for record in records)
        return [Done(record) for record in records]

    async with running(settings, handle, batches=10, window=20) as (runner, _):
        await until(lambda: runner.intake.in_hand == 20)
        await asyncio.sleep(0.7)  # longer than the patience with a full window: partitions are paused
        hold.set()
        await until(lambda: runner.finished == 300)
    assert handled == list(range(300))
    assert most <= 20


def cut_off(settings: Settings, after: int) -> int:
    """The group has read `after` records when the broker's retention takes some more; returns the first that is left.

    librdkafka's broker keeps 5 MiB of a partition.
    """
    put(settings, *requests(after + 1))
    consumer = Consumer(consumer_config(settings, settings.group(SERVICE)))
    place = TopicPartition(settings.topic(SCHEDULED), 0, after)
    consumer.commit(offsets=[place], asynchronous=False)
    put(settings, *(Send(SCHEDULED, "k", bytes(500_000)) for _ in range(20)))
    low, _ = consumer.get_watermark_offsets(place, timeout=5)
    consumer.close()
    return low


async def test_a_batch_waits_for_company_until_none_comes_any_more(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, *requests(1))
    sizes: list[int] = []

    async def handle(records: list[Record]) -> list[Done]:
        sizes.append(len(records))
        return [Done(record) for record in records]

    async with running(settings, handle, batches=10, waits_s=(600.0, 2.0)):
        await until(lambda: bool(sizes))  # alone, and long before the ten minutes are over
        put(settings, *requests(10))
        await until(lambda: sum(sizes) == 11)
    assert sizes == [1, 10]


async def test_what_retention_cut_off_is_told_as_an_event_and_reading_goes_on_behind_it(broker: MockBroker) -> None:
    settings = broker.settings()
    low = await asyncio.to_thread(cut_off, settings, 2)
    handled: list[int] = []

    async def handle(record: Record) -> Done:
        handled.append(record.offset)
        return Done(record)

    async with running(settings, handle) as (runner, _):
        await until(lambda: runner.finished == 23 - low)
        logs = await asyncio.to_thread(everything_in, settings, LOGS, at_least=1)
    (event,) = [decode(LogEvent, record.value or b"") for record in logs]
    labels = {"topic": "odradek.scheduled", "partition": "0", "first_missing": "2", "next_read": str(low)}
    assert low > 3
    assert (event.event.action, event.service.name, event.labels) == ("gap", SERVICE, labels)
    assert sorted(handled) == list(range(low, 23))
    assert committed(settings, SERVICE, SCHEDULED) == {0: 23}


async def test_an_engine_that_is_away_is_asked_again_and_a_bug_ends_the_run(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, *requests(2))
    asked = 0

    async def handle(record: Record) -> Done:
        nonlocal asked
        if record.offset == 1:
            await until(lambda: asked == 3)
            raise ZeroDivisionError
        asked += 1
        if asked < 3:
            raise InfrastructureAway("database")
        return Done(record)

    async def run() -> None:
        async with running(settings, handle) as (runner, _):
            await until(lambda: runner.finished == 1)
            await until(lambda: not runner.intake._thread.is_alive())

    with pytest.raises(ZeroDivisionError):
        await run()
    assert asked == 3


async def test_a_partition_that_was_taken_away_while_it_was_paused_is_read_when_it_comes_back(
    broker: MockBroker,
) -> None:
    settings = broker.settings(drain="500ms")
    put(settings, *(Send(SCHEDULED, "k", b"", partition=part) for part in range(4) for _ in range(8)))
    go, never = asyncio.Event(), asyncio.Event()
    handled: set[tuple[int, int]] = set()

    async def handle(record: Record) -> Done:
        await go.wait()
        handled.add((record.partition, record.offset))
        return Done(record)

    async def hold(record: Record) -> Done:
        await never.wait()
        return Done(record)

    async with running(settings, handle, window=4) as (first, _):
        await until(lambda: first.in_hand == 4)
        async with running(settings, hold, window=4) as (second, _):
            await until(lambda: second.ready and len(first.intake.hand.partitions()) == 2)
            go.set()
            await until(lambda: len(handled) >= 16)
        await until(lambda: len(handled) == 32)


class _Counting:
    """A producer that counts how often it is asked."""

    def __init__(self, settings: Settings) -> None:
        self._real, self.rounds = StageProducer(settings), 0

    async def send(self, sends: list[Send], facts: list[ToFrontier]) -> None:
        self.rounds += 1
        await self._real.send(sends, facts)

    def close(self) -> None:
        self._real.close()


async def test_results_that_come_one_after_the_other_are_settled_together_while_much_is_in_hand(
    broker: MockBroker,
) -> None:
    settings = broker.settings()
    put(settings, *requests(400))
    producer = _Counting(settings)

    async def handle(record: Record) -> Done:
        await asyncio.sleep(0.002)
        return Done(record, (Stage(sends=(Send(PAGES, "k", record.value, partition=0),)),))

    async with running(settings, handle, producer=producer) as (runner, _):
        await until(lambda: runner.finished == 400)
    assert producer.rounds <= 40
    assert committed(settings, SERVICE, SCHEDULED) == {0: 400}
