"""No fetch starts while there is no room for it."""

import asyncio

from odradek_fetcher.core.pace import Pace
from odradek_fetcher.pacing import Gate


class Fetches:
    """Fetches that last until they are told to end, and how many were open at once."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.open, self.most = gate, 0, 0
        self.end = asyncio.Event()

    async def one(self) -> None:
        async with self.gate.open():
            self.open += 1
            self.most = max(self.most, self.open)
            await self.end.wait()
            self.open -= 1


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_are_open_than_the_pace_allows_and_all_have_their_turn() -> None:
    fetches = Fetches(Gate(Pace(3), held_limit_bytes=10))
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(fetches.one())
        await settled()
        assert fetches.open == 3
        fetches.end.set()
    assert (fetches.open, fetches.most) == (0, 3)


async def test_bodies_that_kafka_has_not_taken_hold_up_the_next_fetch() -> None:
    gate = Gate(Pace(3), held_limit_bytes=10)
    fetches = Fetches(gate)
    release = gate.hold(20)
    task = asyncio.create_task(fetches.one())
    await settled()
    assert fetches.open == 0
    release()
    release()
    await settled()
    assert fetches.open == 1
    fetches.end.set()
    await task


async def test_one_who_gives_up_waiting_leaves_its_turn_to_the_next() -> None:
    gate = Gate(Pace(1), held_limit_bytes=10)
    fetches = Fetches(gate)
    tasks = [asyncio.create_task(fetches.one()) for _ in range(3)]
    await settled()
    tasks[1].cancel()
    fetches.end.set()
    await asyncio.gather(tasks[0], tasks[2])
    assert (fetches.open, fetches.most) == (0, 1)
