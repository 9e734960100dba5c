"""A flush ends when Kafka has everything, or it raises: only then may offsets be committed (rule B)."""

from collections.abc import AsyncIterator, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import faust
import pytest

from odradek.errors import InfrastructureAway
from odradek.kafka.records import Send
from odradek.testing.broker import MockBroker, everything_in
from odradek.topics import LOGS, SCHEDULED
from odradek_scheduler.producer import AcknowledgedProducer


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker() as broker:
        yield broker


@pytest.fixture
async def made(broker: MockBroker) -> AsyncIterator[tuple[AcknowledgedProducer, dict[tuple[str, int], int]]]:
    acknowledged: dict[tuple[str, int], int] = {}

    def remember(offsets: Mapping[tuple[str, int], int]) -> None:
        acknowledged.update(offsets)

    transport: Any = SimpleNamespace(app=faust.App("test", broker=f"kafka://{broker.address}"))
    producer = AcknowledgedProducer(transport, settings=broker.settings(), acknowledged=remember)
    await producer.start()
    yield producer, acknowledged
    await producer.stop()


Made = tuple[AcknowledgedProducer, dict[tuple[str, int], int]]


async def test_after_a_flush_everything_is_in_kafka_with_schema_and_partition(broker: MockBroker, made: Made) -> None:
    producer, _ = made
    producer.send_all([Send(SCHEDULED, f"k{number}", b"v", partition=number % 4) for number in range(100)])
    assert producer.outstanding() > 0

    await producer.flush()

    assert producer.outstanding() == 0
    records = everything_in(broker.settings(), SCHEDULED, at_least=100)
    assert sorted((r.partition, r.key) for r in records) == sorted((n % 4, b"k%d" % n) for n in range(100))
    assert {r.header("schema") for r in records} == {b"1"}


async def test_a_flush_tells_how_far_each_changelog_is_acknowledged(made: Made) -> None:
    producer, acknowledged = made
    for _ in range(3):
        producer.produce("changelog", 1, b"k", b"v", changelog=True)
    producer.produce("changelog", 2, b"k", None, [("frontier-offset", b"7")], changelog=True)
    producer.send_all([Send(LOGS, "k", b"v", partition=0)])

    await producer.flush()

    assert acknowledged == {("changelog", 1): 2, ("changelog", 2): 0}


async def test_a_message_that_kafka_refuses_makes_every_flush_fail(made: Made) -> None:
    producer, acknowledged = made
    producer.produce("changelog", 0, b"k", b"v", changelog=True)
    await producer.flush()
    producer.produce("new", 99, b"k", b"v")

    with pytest.raises(InfrastructureAway, match="refused"):
        await producer.flush()
    with pytest.raises(InfrastructureAway, match="refused"):
        await producer.flush()
    assert acknowledged == {("changelog", 0): 0}


async def test_a_message_that_is_refused_at_once_makes_every_flush_fail_too(made: Made) -> None:
    producer, _ = made
    producer.produce("known", 0, b"k", b"v")
    await producer.flush()
    producer.produce("known", 99, b"k", b"v")  # its partitions are known by now
    for _ in range(2):
        with pytest.raises(InfrastructureAway, match="refused"):
            await producer.flush()


async def test_a_message_without_a_partition_is_refused(made: Made) -> None:
    with pytest.raises(ValueError, match="no partition"):
        made[0].send_all([Send(LOGS, "k", b"v")])
