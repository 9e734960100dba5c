"""A partition is released only when its predecessor's requests are answered and its log is folded (rule H)."""

import asyncio
from collections.abc import Callable, Iterator

from odradek.topics import FRONTIER, PAGES, SCHEDULED
from odradek_scheduler.owned import Owned
from odradek_scheduler.takeover import TakeOver


class Offsets:
    """End offsets and committed offsets that a test moves."""

    def __init__(self) -> None:
        self.ends = {SCHEDULED: {0: 0}, PAGES: {0: 0}, FRONTIER: {0: 0, 1: 0}}
        self.done = {"fetcher": 0, "parser": 0}
        self.scheduler = {0: 0, 1: 0}

    def end_offsets(self, topic: str) -> dict[int, int]:
        return dict(self.ends[topic])

    def committed(self, service: str, topic: str) -> dict[int, int]:
        return dict(self.scheduler)

    def passed(self, service: str, topic: str, ends: dict[int, int]) -> bool:
        return self.done[service] >= ends[0]


class Log:
    """A partition's core, as far as take-over goes."""

    def __init__(self, lease_ms: int = 60_000) -> None:
        self.position, self.end, self.released, self._lease_ms = -1, 0, False, lease_ms

    def resume_at(self, position: int) -> None:
        self.position = position

    def catch_up_to(self, end: int) -> None:
        self.end = max(self.end, end)

    def releasing(self, now_ms: int) -> Iterator[int]:
        yield 3
        self.released = True

    def longest_lease_ms(self) -> int:
        return self._lease_ms

    @property
    def recovering(self) -> bool:
        return self.position < self.end


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  (the other side sets no event)
            await asyncio.sleep(0.005)


async def settle(take_over: TakeOver) -> None:
    await until(lambda: not take_over.running)


def two(offsets: Offsets) -> tuple[TakeOver, Log, Log, list[Owned]]:
    first, second = Log(), Log()
    owned = [Owned(0, first), Owned(1, second)]  # type: ignore[arg-type]
    return TakeOver(offsets, released=lambda: None), first, second, owned  # type: ignore[arg-type]


async def test_on_an_empty_cluster_partitions_are_released_at_once() -> None:
    take_over, first, second, owned = two(Offsets())

    await take_over.begin(owned)
    await settle(take_over)

    assert (first.released, second.released) == (True, True)


async def test_the_log_goes_on_where_the_group_has_committed() -> None:
    offsets = Offsets()
    offsets.scheduler, offsets.ends[FRONTIER] = {0: 7, 1: 9}, {0: 7, 1: 12}
    take_over, first, second, owned = two(offsets)

    await take_over.begin(owned)

    assert (first.position, second.position, first.end, second.end) == (7, 9, 7, 12)


async def test_fetchers_then_parsers_then_the_log_are_waited_for() -> None:
    offsets = Offsets()
    offsets.ends[SCHEDULED], offsets.ends[PAGES] = {0: 5}, {0: 3}
    take_over, first, second, owned = two(offsets)
    await take_over.begin(owned)

    assert not first.released
    offsets.ends[PAGES], offsets.done["fetcher"] = {0: 4}, 5
    offsets.done["parser"], offsets.ends[FRONTIER] = 3, {0: 2, 1: 0}
    await asyncio.sleep(0)
    assert not first.released
    offsets.done["parser"] = 4
    await until(lambda: second.released or first.end == 2)
    assert not first.released

    first.position = 2
    take_over.folded()
    await settle(take_over)
    assert (first.released, second.released) == (True, True)


async def test_a_partition_taken_away_meanwhile_is_not_released() -> None:
    offsets = Offsets()
    offsets.ends[SCHEDULED] = {0: 5}
    take_over, first, second, owned = two(offsets)
    await take_over.begin(owned)

    owned[0].kept = False
    offsets.done["fetcher"] = 5
    await settle(take_over)

    assert (first.released, second.released) == (False, True)
