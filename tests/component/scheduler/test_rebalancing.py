"""Whatever rebalances follow one another: every partition that Faust assigns in the end is taken over, and no other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.component.scheduler.on_disk import Tables

from odradek.errors import InfrastructureAway
from odradek.topics import FRONTIER
from odradek_scheduler.core.partition import Limits
from odradek_scheduler.owned import Ownership
from odradek_scheduler.rebalancing import Rebalancing
from odradek_scheduler.takeover import TakeOver

PARTITIONS = 4


class Offsets:
    """An empty cluster that answers only when it may."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.loop = asyncio.get_running_loop()
        self.by_the_group: dict[int, int] = {}

    def _answered(self, found: dict[int, int]) -> dict[int, int]:
        asyncio.run_coroutine_threadsafe(_wait(self.answers), self.loop).result(10)
        return found

    def committed(self, service: str, topic: str) -> dict[int, int]:
        return self._answered(dict(self.by_the_group))

    def end_offsets(self, topic: str) -> dict[int, int]:
        return dict.fromkeys(range(PARTITIONS), 0) if topic == FRONTIER else {0: 0}

    def passed(self, service: str, topic: str, ends: dict[int, int]) -> bool:
        return True


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


class Faust:
    """Tells of rebalances as Faust does: each assignment cancels whoever still listens to the recovery before it."""

    def __init__(self, folder: Path) -> None:
        self.owned_partitions: set[int] = set()
        self.unread_partitions: set[int] = set()
        self.at_rest, self.overtaken = True, False
        self.flows = False
        """True while batches are handed out."""
        self.offsets, self.tables = Offsets(), Tables(folder)
        self.ownership = Ownership(self.tables, None, PARTITIONS, Limits())  # type: ignore[arg-type]
        self.take_over = TakeOver(self.offsets, released=lambda: None)  # type: ignore[arg-type]
        self.rebalancing = Rebalancing(self, self, self.ownership, self.take_over, lambda: None)
        self._recovery: asyncio.Task[None] | None = None

    # ---- the reader of changelogs

    async def stop(self) -> None:
        self.overtaken = True

    def go_on(self) -> None:
        self.overtaken = False

    # ---- rebalances

    async def revoke(self) -> None:
        self.at_rest = self.flows = False
        await self.rebalancing.revoked()

    async def assign(self, *partitions: int) -> None:
        """Its tables are recovered at once."""
        for gone in self.owned_partitions - set(partitions):
            self.tables.stores.close(gone)
        self.owned_partitions = set(partitions)
        if self._recovery is not None:
            self._recovery.cancel()
        self.rebalancing.assigned()
        self._recovery = asyncio.create_task(self._recover())
        await asyncio.sleep(0)

    async def _recover(self) -> None:
        await self.rebalancing.recovered()
        self.at_rest = self.flows = True

    async def close(self) -> None:
        if self._recovery is not None:
            self._recovery.cancel()
            with suppress(asyncio.CancelledError):
                await self._recovery
        self.tables.stores.close_all()

    # ---- what a test asks

    def taken_over(self) -> dict[int, bool]:
        return {owned.number: owned.core.dispatching for owned in self.ownership}


@pytest.fixture
async def faust(tmp_path: Path) -> AsyncIterator[Faust]:
    faust = Faust(tmp_path)
    yield faust
    await faust.close()


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  (the other side sets no event)
            await asyncio.sleep(0.005)


async def test_partitions_are_taken_over_when_another_rebalance_comes_before_kafka_has_answered(faust: Faust) -> None:
    faust.offsets.answers.clear()
    await faust.assign(0, 1)
    await faust.revoke()
    await faust.assign(0, 1, 2)
    faust.offsets.answers.set()

    await until(lambda: faust.flows and not faust.take_over.running)
    assert faust.taken_over() == {0: True, 1: True, 2: True}


async def test_an_empty_assignment_and_then_a_full_one(faust: Faust) -> None:
    await faust.assign()
    await until(lambda: faust.flows)
    assert faust.taken_over() == {}

    await faust.revoke()
    await faust.assign(0, 1, 2, 3)
    await until(lambda: faust.flows and not faust.take_over.running)
    assert faust.taken_over() == dict.fromkeys(range(4), True)


async def test_nothing_flows_and_nothing_is_taken_over_between_a_revocation_and_the_next_assignment(
    faust: Faust,
) -> None:
    faust.offsets.answers.clear()
    await faust.assign(0, 1)
    await faust.revoke()
    faust.offsets.answers.set()
    await asyncio.to_thread(lambda: None)
    await asyncio.sleep(0.05)
    assert (faust.flows, faust.ownership.steady, faust.taken_over()) == (False, False, {})

    await faust.assign(1)
    await until(lambda: faust.flows and not faust.take_over.running)
    assert faust.taken_over() == {1: True}


async def test_what_faust_assigns_and_we_do_not_have_is_taken_over_at_the_second_look(faust: Faust) -> None:
    await faust.assign(0)
    await until(lambda: faust.flows and not faust.take_over.running)
    faust.owned_partitions = {0, 2}

    assert await faust.rebalancing.look() is False
    assert await faust.rebalancing.look() is True
    await until(lambda: not faust.take_over.running)
    assert faust.taken_over() == {0: True, 2: True}
    assert await faust.rebalancing.look() is False


async def test_what_faust_no_longer_assigns_is_given_up(faust: Faust) -> None:
    await faust.assign(0, 1)
    await until(lambda: faust.flows and not faust.take_over.running)
    lost = faust.ownership.get(1)
    faust.owned_partitions = {0}

    assert [await faust.rebalancing.look() for _ in range(3)] == [False, True, False]
    assert lost is not None
    assert (lost.kept, faust.taken_over()) == (False, {0: True})


async def test_a_partition_that_nobody_leads_to_its_release_is_taken_over(faust: Faust) -> None:
    await faust.assign(0)
    await until(lambda: faust.flows and not faust.take_over.running)
    faust.owned_partitions = {0, 3}
    faust.ownership.settle(faust.owned_partitions)
    assert faust.taken_over() == {0: True, 3: False}

    assert [await faust.rebalancing.look() for _ in range(2)] == [False, True]
    await until(lambda: not faust.take_over.running)
    assert faust.taken_over() == {0: True, 3: True}


async def test_partitions_whose_changelogs_nobody_reads_are_never_taken_over(faust: Faust) -> None:
    """The leader of the group may not have heard of topics that others have just created."""
    faust.owned_partitions, faust.unread_partitions = {0, 1}, {1}

    with pytest.raises(InfrastructureAway, match=r"\[1\] were assigned without their changelogs"):
        await faust.rebalancing.recovered()
    assert (faust.ownership.steady, faust.taken_over()) == (False, {})


async def test_a_rebalance_is_no_difference(faust: Faust) -> None:
    await faust.assign(0)
    await until(lambda: faust.flows and not faust.take_over.running)
    await faust.revoke()
    faust.owned_partitions = {1}

    assert [await faust.rebalancing.look() for _ in range(3)] == [False, False, False]


async def test_a_partition_that_is_kept_goes_on_where_others_have_committed_what_changed_nothing(faust: Faust) -> None:
    """It was paused for longer than its session, and its successor has folded batches without a fact."""
    await faust.revoke()
    await faust.assign(0)
    await until(lambda: faust.flows)
    (owned,) = faust.ownership
    faust.offsets.by_the_group = {0: 7}

    await faust.revoke()
    await faust.assign(0)
    await until(lambda: faust.flows)

    assert (list(faust.ownership), owned.core.position) == ([owned], 7)
