"""What follows from a rebalance: which partitions are ours, and that each of them is taken over.

Faust tells three things: partitions are revoked, others are assigned, their tables are recovered. A further rebalance
may begin after each of them. It cancels whoever still listens to the third (faust/tables/recovery.py, `_wait`), so
what follows from it happens without an await in between, or not at all.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import structlog

from odradek.errors import InfrastructureAway
from odradek_scheduler import metrics
from odradek_scheduler.owned import Ownership
from odradek_scheduler.takeover import Positions, TakeOver

log = structlog.get_logger()

LOOK_EVERY_S: Final = 2.0


class Reader(Protocol):
    """Who reads the changelogs of what is assigned."""

    async def stop(self) -> None:
        """Leave the tables alone."""

    def go_on(self) -> None:
        """There is an assignment again."""


class Faust(Protocol):
    """What Faust says of the group."""

    @property
    def owned_partitions(self) -> set[int]:
        """Frontier partitions that are assigned to this process."""

    @property
    def unread_partitions(self) -> set[int]:
        """Of those, partitions whose changelogs are not all assigned with them."""

    @property
    def at_rest(self) -> bool:
        """True while no rebalance and no recovery is under way."""

    @property
    def overtaken(self) -> bool:
        """True when another rebalance has begun since the assignment whose tables are recovered."""


class Difference(NamedTuple):
    """Between what is assigned and what is in our hands."""

    missing: tuple[int, ...] = ()
    """Assigned, and not in our hands."""
    surplus: tuple[int, ...] = ()
    """In our hands, and not assigned."""
    idle: tuple[int, ...] = ()
    """In our hands, and nobody leads them to their release."""


class Rebalancing:
    """Follows Faust from one assignment to the next, and looks now and then whether nothing was missed."""

    def __init__(
        self, faust: Faust, reader: Reader, ownership: Ownership, take_over: TakeOver, settled: Callable[[], None]
    ) -> None:
        self._faust, self._reader = faust, reader
        self._ownership, self._take_over = ownership, take_over
        self._settled = settled
        self._began = time.monotonic()
        self._found = Difference()

    async def revoked(self) -> None:
        """A rebalance begins: nothing may be sent, no table be read."""
        self._ownership.unsettle()
        self._began = time.monotonic()
        await self._reader.stop()

    def assigned(self) -> None:
        """There is a new assignment; its tables are recovered next."""
        self._reader.go_on()
        log.info("assigned", partitions=sorted(self._faust.owned_partitions))

    async def recovered(self) -> None:
        """All tables of the assignment are recovered: take its partitions over.

        Faust lets the streams flow when this returns. With another rebalance under way it does not; the next
        assignment cancels it.

        Raises:
            InfrastructureAway: tables were not recovered, because whoever leads the group does not know the changelogs;
                to go on without them would lose what they hold.
        """
        if not self._faust.overtaken and (unread := self._faust.unread_partitions):
            raise InfrastructureAway(f"partitions {sorted(unread)} were assigned without their changelogs")
        positions = await self._take_over.positions()
        if self._faust.overtaken:
            await asyncio.Event().wait()
        self._settle(positions)

    async def watch(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.look()

    async def look(self) -> bool:
        """True if partitions were other than Faust says, now and the last time, and were set right."""
        before, self._found = self._found, self._difference()
        if self._found == Difference() or self._found != before:
            return False
        positions = await self._take_over.positions()
        if self._difference() != before:
            return False
        log.error("partitions_reconciled", **self._found._asdict())
        metrics.RECONCILED.inc()
        self._found, self._began = Difference(), time.monotonic()
        self._settle(positions)
        return True

    def _difference(self) -> Difference:
        if not self._faust.at_rest:
            return Difference()
        assigned, owned = self._faust.owned_partitions, {each.number: each for each in self._ownership}
        return Difference(
            missing=tuple(sorted(assigned - owned.keys())),
            surplus=tuple(sorted(owned.keys() - assigned)),
            idle=tuple(sorted(number for number in owned.keys() & assigned if self._take_over.lacks(owned[number]))),
        )

    def _settle(self, positions: Positions) -> None:
        new = self._ownership.settle(self._faust.owned_partitions)
        for owned in self._ownership:
            owned.core.resume_at(positions.committed.get(owned.number, 0))
        self._take_over.begin([each for each in self._ownership if self._take_over.lacks(each)], positions)
        took_s = time.monotonic() - self._began
        metrics.RECOVERY.observe(took_s)
        log.info("recovered", seconds=round(took_s, 3), new=[each.number for each in new])
        self._settled()
