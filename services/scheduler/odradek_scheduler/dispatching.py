"""Sends what is due, when it is due: woken by folded batches and by the clock, never by polling."""

import asyncio
from collections.abc import Iterable
from typing import Final

from odradek.clock import now_ms
from odradek_scheduler import metrics
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Owned, Ownership

IDLE_MS: Final = 1000
"""Leases and credits are looked at this often at least."""
TOGETHER_S: Final = 0.004
"""Rounds are at least so far apart, so that batches which come together are answered together."""
REST: Final = 10
"""So many times as long as a round has taken is rested before the next: a busy machine dispatches more at a time."""
MOST_REST_S: Final = 0.025
MOST_A_ROUND: Final = 512
"""Requests sent in one round: with credits for thousands, all at once would hold up the event loop for seconds."""
SAVING_MS: Final = 20
PATIENCE_MS: Final = 5
"""After a round that found nothing although something is due."""


class Dispatcher:
    """All owned partitions share the credits: at most `in_flight` requests of this process are unanswered."""

    def __init__(self, ownership: Ownership, outbox: Outbox, in_flight: int) -> None:
        self._ownership = ownership
        self._outbox = outbox
        self._in_flight = in_flight
        self._awake = asyncio.Event()
        self._turn = 0
        self._looked_at = 0
        self.sent = 0
        """Requests sent so far."""

    def wake(self) -> None:
        """Something has changed: look again."""
        self._awake.set()

    async def run(self) -> None:
        """Dispatch for ever."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._awake.clear()
            wait_ms = self.round(now_ms())
            rest_s = min(max(TOGETHER_S, REST * (loop.time() - began)), MOST_REST_S)
            alarm = loop.call_later(wait_ms / 1000, self._awake.set)
            await self._awake.wait()
            alarm.cancel()
            await asyncio.sleep(max(0.0, began + rest_s - loop.time()))

    def round(self, now: int) -> int:
        """One look at every partition; returns after how many milliseconds to look again."""
        mine = [owned for owned in self._ownership if owned.core.dispatching]
        room = self._in_flight - sum(owned.core.outstanding for owned in mine)
        look_at = self._looked_at + self._patience_ms(room)
        if now < look_at:
            return look_at - now
        self._looked_at = now
        did, free = False, min(room, MOST_A_ROUND)
        for left, owned in self._in_turn(mine, now):
            sent = self._dispatch(owned, now, max(0, -(-free // left)))
            did = did or sent > 0
            free -= sent
            if sent and free <= 0:
                break
        if free <= 0:
            return IDLE_MS if room <= MOST_A_ROUND else 0
        wakes = [wake for owned in mine if (wake := owned.core.wake_at_ms(now)) is not None]
        soonest = min(wakes, default=now + IDLE_MS) - now
        if soonest > 0:
            return min(soonest, IDLE_MS)
        return 0 if did else PATIENCE_MS

    def _patience_ms(self, free: int) -> int:
        """Few credits are saved up: what is sent together is answered together, and costs everyone less."""
        if free <= 0:
            return IDLE_MS
        return SAVING_MS if free < self._in_flight // 8 else 0

    def _in_turn(self, mine: list[Owned], now: int) -> Iterable[tuple[int, Owned]]:
        """Partitions with something due, each round beginning with another; with each, how many are left."""
        ready = [owned for owned in mine if (wake := owned.core.wake_at_ms(now)) is not None and wake <= now]
        if not ready:
            return ()
        self._turn = (self._turn + 1) % len(ready)
        order = ready[self._turn :] + ready[: self._turn]
        return ((len(order) - place, owned) for place, owned in enumerate(order))

    def _dispatch(self, owned: Owned, now: int, free: int) -> int:
        dispatched = owned.core.dispatch(now, free)
        self._outbox.dispatch(dispatched)
        self.sent += len(dispatched.requests)
        metrics.REQUESTS.inc(len(dispatched.requests))
        return len(dispatched.requests)
