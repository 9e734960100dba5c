"""What Faust's consumer commits, by what is finished."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faust
import pytest
from aiokafka import ConsumerRecord
from faust.types import TP

from odradek.errors import InfrastructureAway
from odradek.kafka.window import Gap
from odradek_scheduler.app import deleted
from odradek_scheduler.transport import ChangelogsAtRest, Transport

PLACE = TP("frontier", 0)
OTHER = TP("frontier", 1)
CALLBACKS = ("callback", "on_partitions_revoked", "on_partitions_assigned")


class Tables:
    """What the consumer tells of the frontier's tables."""

    changelogs = ("seen-changelog",)

    def __init__(self) -> None:
        self.newest: dict[tuple[str, int], int] = {}
        self.told: list[tuple[set[int], dict[tuple[str, int], int]]] = []

    def owned(self, partitions: set[int], newest: dict[tuple[str, int], int]) -> None:
        self.told.append((partitions, newest))


class Broker:
    """What Faust asks its thread for: reads on from where it was sought to, and answers a read when it is let go."""

    def __init__(self, committed: dict[TP, int], begins: int = 0) -> None:
        self.committed, self.begins = committed, begins
        self.takes_commits = True
        self.positions: dict[TP, int] = {}
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        self.positions = dict(self.committed)
        return self.committed

    def assignment(self) -> set[TP]:
        return {PLACE, OTHER}

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        self.positions |= partitions

    async def commit(self, offsets: Mapping[TP, int]) -> bool:
        self.committed |= offsets if self.takes_commits else {}
        return self.takes_commits

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        return dict.fromkeys(partitions, self.begins)

    async def getmany(self, active: set[TP], timeout: float) -> dict[TP, list[ConsumerRecord]]:  # noqa: ASYNC109  (Faust's signature)
        found = {tp: [a_record(tp, offset + more) for more in (0, 1)] for tp, offset in self.positions.items()}
        self.positions = {tp: offset + 2 for tp, offset in self.positions.items()}
        self.asked.set()
        await self.let_go.wait()
        return found

    def highwater(self, tp: TP) -> int:
        return 100


def a_record(tp: TP, offset: int) -> ConsumerRecord:
    return ConsumerRecord(tp.topic, tp.partition, offset, 0, 0, b"", b"", 0, 0, 0, ())


@pytest.fixture
def consumer(tmp_path: Path) -> ChangelogsAtRest:
    app: Any = faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", datadir=str(tmp_path))
    app.frontier_tables = Tables()
    callbacks: dict[str, Any] = dict.fromkeys(CALLBACKS, lambda _: None)
    consumer = ChangelogsAtRest(Transport([], app), **callbacks)
    consumer._thread.thread_loop.close()
    return consumer


@pytest.mark.parametrize(
    ("committed", "finished", "gap", "next_committed"),
    [
        (None, [4, 5, 7], None, 6),
        (10, [10, 11, 12], None, 13),
        (10, [11, 12], None, None),
        (10, [12], None, None),
        (10, [11, 12], (10, 11), 13),
        (10, [10, 12], None, 11),
        (10, [], None, None),
    ],
)
async def test_nothing_is_committed_behind_a_record_that_is_not_finished(
    committed: int | None,
    finished: list[int],
    gap: tuple[int, int] | None,
    next_committed: int | None,
    consumer: ChangelogsAtRest,
) -> None:
    consumer._committed_offset[PLACE] = committed
    consumer._acked[PLACE].extend(finished)
    consumer._acked_index[PLACE].update(finished)
    if gap is not None:
        consumer._gap[PLACE].addi(*gap)
    assert consumer._new_offset(PLACE) == next_committed


async def handed_out(consumer: ChangelogsAtRest) -> list[int]:
    return [message.offset async for _, message in consumer.getmany(timeout=1)]


async def test_what_was_to_be_read_next_and_is_deleted_is_not_waited_for(consumer: Any) -> None:
    consumer._thread = broker = Broker({}, begins=15)
    consumer._holes.patience_s = 0.0
    consumer._committed_offset[PLACE] = 10
    consumer._acked[PLACE].extend([15, 16])
    consumer._acked_index[PLACE].update([15, 16])
    consumer.resume_flow()

    for _ in range(2):
        await consumer._commit_tps([PLACE], start_new_transaction=False)

    assert (broker.committed, consumer.crash_reason) == ({PLACE: 17}, None)


async def test_what_was_to_be_read_next_and_is_there_ends_the_process(consumer: Any) -> None:
    consumer._thread = Broker({}, begins=10)
    consumer._holes.patience_s = 0.0
    consumer._committed_offset[PLACE] = 10
    consumer._acked[PLACE].extend([15, 16])
    consumer.resume_flow()

    await consumer._commit_tps([PLACE], start_new_transaction=False)

    assert str(consumer.crash_reason) == "offset 10 of partition 0 is never finished"


async def test_a_partition_without_a_commit_is_read_from_its_beginning_again(consumer: Any) -> None:
    """What was on its way during the rebalance is gone."""
    consumer._thread = broker = Broker({PLACE: 10})
    broker.positions = {OTHER: 3}

    await consumer.perform_seek()

    assert broker.positions == {PLACE: 10, OTHER: 0}


@pytest.mark.parametrize("takes_commits", [True, False])
async def test_only_a_commit_that_is_taken_says_that_the_tables_hold_all_before_what_was_acknowledged(
    consumer: Any, *, takes_commits: bool
) -> None:
    consumer._thread = broker = Broker({})
    broker.takes_commits = takes_commits
    tables = consumer.app.frontier_tables
    tables.newest = {("seen", 0): 7}

    await consumer._commit({PLACE: 12})

    assert tables.told == ([({0}, {("seen", 0): 7})] if takes_commits else [])


async def test_what_was_on_its_way_during_a_seek_is_not_handed_out_and_comes_again(consumer: Any) -> None:
    consumer._thread = broker = Broker({PLACE: 10})
    broker.positions = {PLACE: 12}
    consumer._set_active_tps({PLACE})
    consumer.resume_flow()
    first = asyncio.ensure_future(handed_out(consumer))
    await broker.asked.wait()

    await consumer.perform_seek()
    consumer.resume_flow()
    broker.let_go.set()

    assert (await first, await handed_out(consumer)) == ([], [10, 11])


async def test_a_record_that_comes_before_those_in_front_of_it_ends_the_process_unless_they_are_deleted() -> None:
    async def begins_at_15(place: TP) -> Mapping[TP, int]:
        return {place: 15}

    await deleted(Gap(0, 10, 15), "frontier", begins_at_15)
    with pytest.raises(InfrastructureAway) as failure:
        await deleted(Gap(0, 10, 16), "frontier", begins_at_15)

    assert str(failure.value) == "offset 16 of frontier-0 came before 10"
