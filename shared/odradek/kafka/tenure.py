"""How long a member of a group may go on with what it has begun: until its partitions may be another's.

A group gives a silent member's partitions away when the session timeout has passed since it was last heard. So a member
that stops by itself, that long after the last question of its own which the group has answered, has stopped before the
next owner begins. The questions are its commits.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from time import monotonic
from typing import Final, TypeVar

from odradek.kafka.records import Record

T = TypeVar("T")

WAIT_S: Final = 0.05
"""How often work that must not begin yet looks whether it may."""


class Tenure:
    """Made on the event loop that does the work; what a consumer knows is told from its thread."""

    def __init__(self, session_s: float) -> None:
        self.session_s = session_s
        self._loop = asyncio.get_running_loop()
        self._until = 0.0
        self._ours: frozenset[int] = frozenset()
        self._open: dict[asyncio.Timeout, int] = {}
        self._watch: asyncio.TimerHandle | None = None

    # ---- told by the consumer

    def proven(self, asked_at: float) -> None:
        """The group has answered a question that was asked then (monotonic): until then we were its member."""
        self._until = max(self._until, asked_at + self.session_s)

    def gained(self, partitions: Iterable[int]) -> None:
        """These are ours."""
        self._ours |= frozenset(partitions)

    def lost(self, partitions: Iterable[int]) -> None:
        """These are ours no longer: what was begun of them is broken off."""
        gone = frozenset(partitions)
        self._ours -= gone
        self._loop.call_soon_threadsafe(self._break_off, gone)

    # ---- asked by the work

    @property
    def proven_until(self) -> float:
        """Until when (monotonic) our partitions are surely nobody else's."""
        return self._until

    async def begins(self, record: Record) -> bool:
        """Wait until work on the record may begin; False: its partition has gone away."""
        while record.partition in self._ours:
            if monotonic() < self._until:
                return True
            await asyncio.sleep(WAIT_S)
        return False

    async def during(self, record: Record, work: Awaitable[T]) -> T | None:
        """What the work comes to; None: it was broken off, because the record may be another's by now."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._open[limit] = record.partition
                if self._watch is None:
                    self._watch = self._loop.call_at(self._until, self._look)
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            return None
        finally:
            self._open.pop(limit, None)

    def _look(self) -> None:
        self._watch = None
        if not self._open:
            return
        if monotonic() >= self._until:
            self._break_off(frozenset(self._open.values()))
        else:
            self._watch = self._loop.call_at(self._until, self._look)

    def _break_off(self, partitions: frozenset[int]) -> None:
        for limit, partition in self._open.items():
            if partition in partitions and limit.when() is None:
                limit.reschedule(self._loop.time())
