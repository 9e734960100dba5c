"""A partition is released only when its predecessor's requests are answered and its log is folded (rule H)."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from odradek.errors import InfrastructureAway
from odradek.topics import FRONTIER, PAGES, SCHEDULED
from odradek_scheduler.owned import Owned
from odradek_scheduler.store import TablesClosed
from odradek_scheduler.takeover import TakeOver


class Offsets:
    """End offsets and committed offsets that a test moves."""

    def __init__(self) -> None:
        self.ends = {SCHEDULED: {0: 0}, PAGES: {0: 0}, FRONTIER: {0: 0, 1: 0}}
        self.done = {"fetcher": 0, "parser": 0}
        self.scheduler = {0: 0, 1: 0}
        self.away = 0
        """So many questions are not answered."""

    def end_offsets(self, topic: str) -> dict[int, int]:
        if self.away:
            self.away -= 1
            raise InfrastructureAway("no broker")
        return dict(self.ends[topic])

    def committed(self, service: str, topic: str) -> dict[int, int]:
        return dict(self.scheduler)

    def passed(self, service: str, topic: str, ends: dict[int, int]) -> bool:
        return self.done[service] >= ends[0]


class Log:
    """A partition's core, as far as take-over goes."""

    def __init__(self, lease_ms: int = 60_000) -> None:
        self.position, self.end, self.released, self._lease_ms = 0, 0, False, lease_ms
        self.trouble: Exception | None = None

    def resume_at(self, position: int) -> None:
        self.position = position

    def catch_up_to(self, end: int) -> None:
        self.end = max(self.end, end)

    def releasing(self, now_ms: int) -> Iterator[int]:
        if self.trouble is not None:
            raise self.trouble
        yield 3
        self.released = True

    def longest_lease_ms(self) -> int:
        if self.trouble is not None:
            raise self.trouble
        return self._lease_ms

    @property
    def recovering(self) -> bool:
        return self.position < self.end


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  (the other side sets no event)
            await asyncio.sleep(0.005)


async def begin(take_over: TakeOver, owned: list[Owned]) -> None:
    take_over.begin(owned, await take_over.positions())


async def settle(take_over: TakeOver) -> None:
    await until(lambda: not take_over.running)


def two(offsets: Offsets) -> tuple[TakeOver, Log, Log, list[Owned]]:
    first, second = Log(), Log()
    owned = [Owned(0, first), Owned(1, second)]  # type: ignore[arg-type]
    return TakeOver(offsets, released=lambda: None), first, second, owned  # type: ignore[arg-type]


async def test_on_an_empty_cluster_partitions_are_released_at_once() -> None:
    take_over, first, second, owned = two(Offsets())

    await begin(take_over, owned)
    await settle(take_over)

    assert (first.released, second.released) == (True, True)


async def test_the_log_goes_on_where_the_group_has_committed() -> None:
    offsets = Offsets()
    offsets.scheduler, offsets.ends[FRONTIER] = {0: 7, 1: 9}, {0: 7, 1: 12}
    take_over, first, second, owned = two(offsets)

    await begin(take_over, owned)

    assert (first.position, second.position, first.end, second.end) == (7, 9, 7, 12)


async def test_fetchers_then_parsers_then_the_log_are_waited_for() -> None:
    offsets = Offsets()
    offsets.ends[SCHEDULED], offsets.ends[PAGES] = {0: 5}, {0: 3}
    take_over, first, second, owned = two(offsets)
    await begin(take_over, owned)

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
    await begin(take_over, owned)

    owned[0].kept = False
    offsets.done["fetcher"] = 5
    await settle(take_over)

    assert (first.released, second.released) == (False, True)


async def test_a_partition_whose_tables_were_closed_holds_up_no_other() -> None:
    """A rebalance closes them at once; what has gone elsewhere is known only when it is over."""
    take_over, first, second, owned = two(Offsets())
    first.trouble = TablesClosed()

    await begin(take_over, owned)
    await settle(take_over)

    assert (first.released, second.released, take_over.failure.done()) == (False, True, False)


async def test_a_partition_that_has_gone_elsewhere_is_not_waited_for() -> None:
    offsets = Offsets()
    take_over, first, second, owned = two(offsets)
    offsets.ends[FRONTIER] = {0: 9, 1: 0}
    await begin(take_over, owned)
    await until(lambda: first.end == 9)

    owned[0].kept = False
    await begin(take_over, [])
    await settle(take_over)

    assert (first.released, second.released) == (False, True)


async def test_brokers_that_are_away_for_a_while_only_delay_a_take_over() -> None:
    offsets = Offsets()
    take_over, first, second, owned = two(offsets)
    await begin(take_over, owned)
    offsets.away = 3
    await settle(take_over)

    assert (offsets.away, first.released, second.released) == (0, True, True)


async def test_a_take_over_that_cannot_go_on_is_told() -> None:
    """Its partitions would rest for ever."""
    take_over, first, _, owned = two(Offsets())
    first.trouble = ValueError("a bug")

    await begin(take_over, owned)
    await settle(take_over)

    with pytest.raises(ValueError, match="a bug"):
        await take_over.failure
