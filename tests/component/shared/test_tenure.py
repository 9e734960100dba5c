"""What two must not do at once ends before another may begin it, and what another may have done is known as such."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Record, Send
from odradek.kafka.runner import Runner, Window
from odradek.kafka.tenure import Tenure
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, committed, put
from odradek.topics import SCHEDULED

SERVICE = "fetcher"
RECORD = Record(topic="scheduled", partition=1, offset=7, key=None, value=None)


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def soon() -> str:
    await asyncio.sleep(0)
    return "done"


def a_tenure(session_s: float = 10.0, *, proven_s_ago: float = 0.0) -> Tenure:
    tenure = Tenure(session_s)
    tenure.gained([1])
    tenure.proven(monotonic() - proven_s_ago)
    return tenure


async def test_work_comes_to_its_end_while_membership_is_proven() -> None:
    tenure = a_tenure()
    assert (await tenure.begins(RECORD), await tenure.during(RECORD, soon())) == (True, "done")


async def test_work_is_broken_off_when_the_last_proof_is_a_session_old() -> None:
    tenure = a_tenure(0.3)
    begun = monotonic()
    assert await tenure.during(RECORD, forever()) is None
    assert 0.25 < monotonic() - begun < 5


async def test_each_proof_prolongs_what_is_under_way() -> None:
    tenure = a_tenure(0.3)
    work = asyncio.create_task(tenure.during(RECORD, forever()))
    for _ in range(6):
        await asyncio.sleep(0.1)
        tenure.proven(monotonic())
    assert not work.done()
    assert await work is None


async def test_work_of_a_partition_that_was_lost_is_broken_off_at_once_and_no_other() -> None:
    tenure = a_tenure()
    tenure.gained([2])
    other = Record(topic="scheduled", partition=2, offset=0, key=None, value=None)
    lost, kept = (asyncio.create_task(tenure.during(each, forever())) for each in (RECORD, other))
    await asyncio.sleep(0)
    await asyncio.to_thread(tenure.lost, [1])
    assert await lost is None
    assert (kept.done(), await tenure.begins(RECORD), await tenure.begins(other)) == (False, False, True)
    kept.cancel()


async def test_nothing_begins_before_the_first_proof() -> None:
    tenure = a_tenure(proven_s_ago=11.0)
    beginning = asyncio.create_task(tenure.begins(RECORD))
    await asyncio.sleep(0.2)
    assert not beginning.done()
    tenure.proven(monotonic())
    assert await beginning is True


async def test_a_time_limit_of_the_work_itself_is_the_works_own() -> None:
    async def in_time() -> None:
        async with asyncio.timeout(0.01):
            await forever()

    with pytest.raises(TimeoutError):
        await a_tenure().during(RECORD, in_time())


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker() as broker:
        yield broker


@asynccontextmanager
async def a_member(settings: Settings, told: list[tuple[int, bool]]) -> AsyncIterator[Tenure]:
    producer, tenure, stop = StageProducer(settings), Tenure(settings.session_timeout), asyncio.Event()

    async def handle(record: Record) -> Done:
        assert await tenure.begins(record)
        told.append((record.offset, record.inherited))
        return Done(record)

    runner = Runner(settings, SERVICE, SCHEDULED, producer, Window(100), tenure=tenure)
    task = asyncio.create_task(runner.run_each(handle, stop, 4))
    try:
        yield tenure
    finally:
        stop.set()
        await task
        producer.close()


async def until(count: int, told: list[tuple[int, bool]]) -> None:
    async with asyncio.timeout(20):
        while len(told) < count:  # noqa: ASYNC110  (the other side is a broker, which sets no event)
            await asyncio.sleep(0.01)


async def test_records_from_before_an_assignment_are_inherited_and_later_ones_are_not(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, *(Send(SCHEDULED, "k", b"") for _ in range(3)))
    told: list[tuple[int, bool]] = []
    async with a_member(settings, told):
        await until(3, told)
        await asyncio.to_thread(put, settings, *(Send(SCHEDULED, "k", b"") for _ in range(2)))
        await until(5, told)
    assert sorted(told) == [(0, True), (1, True), (2, True), (3, False), (4, False)]
    assert committed(settings, SERVICE, SCHEDULED)[0] == 5


async def test_a_member_without_work_stays_proven(broker: MockBroker) -> None:
    settings = broker.settings()
    put(settings, Send(SCHEDULED, "k", b""))
    told: list[tuple[int, bool]] = []
    async with a_member(settings, told) as tenure:
        await until(1, told)
        proofs = {tenure.proven_until}
        async with asyncio.timeout(20):
            while len(proofs) < 4:
                proofs.add(tenure.proven_until)
                await asyncio.sleep(0.01)
    assert max(proofs) > monotonic()
