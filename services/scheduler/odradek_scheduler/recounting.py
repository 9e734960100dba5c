"""When a partition counts its URLs afresh: once nothing of a job is pending there, and on demand (rule C)."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final

from odradek.clock import now_ms
from odradek.contracts import Counters, Progress, Recount
from odradek_scheduler.owned import Owned
from odradek_scheduler.store import TablesClosed

Rest = tuple[int, Counters]
"""A run, and its counters: two runs of a job may come to the same."""
INLINE: Final = 2_000
"""So few URLs are counted at once; more are counted in a thread, while the partition goes on."""
QUIET_MS: Final = 100
REST: Final = 10
"""After a recount of one second, ten seconds without another."""


async def recounted(owned: Owned, job: str) -> Recount | None:
    """Count a job's URLs as they are now, in a thread; None: the partition recovers, or has gone meanwhile."""
    count = owned.core.recounting(job)
    if count is None:
        return None
    try:
        return await asyncio.to_thread(count, now_ms())
    except TablesClosed:
        return None


class Recounts:
    """Recounts what has come to rest, each state of the counters once."""

    def __init__(self) -> None:
        self._done: dict[tuple[Owned, str], Rest] = {}
        self._quiet: dict[tuple[Owned, str], tuple[Rest, int]] = {}
        self._rest_until: dict[tuple[Owned, str], float] = {}

    async def look(self, reports: Iterable[tuple[Owned, Progress]]) -> bool:
        """Take note of fresh reports; recount what has been at rest for a moment. True: there are new recounts."""
        now = now_ms()
        for owned, report in reports:
            self._note(owned, report, now)
        self._forget_lost()
        due = [(place, rest) for place, (rest, since) in self._quiet.items() if now - since >= QUIET_MS]
        counted = False
        for place, rest in due:
            if time.monotonic() < self._rest_until.get(place, 0.0):
                continue
            counted = await self._recount(place, rest) or counted
            await asyncio.sleep(0)
        return counted

    @property
    def waiting(self) -> bool:
        """True while something at rest has not been recounted and may be."""
        now = time.monotonic()
        return any(now >= self._rest_until.get(place, 0.0) for place in self._quiet)

    def _note(self, owned: Owned, report: Progress, now: int) -> None:
        place = (owned, report.job)
        counters, rest = report.counters, (report.run, report.counters)
        if report.recovering or counters.pending or not counters.accepted or self._done.get(place) == rest:
            self._quiet.pop(place, None)
        elif self._quiet.get(place, (None, 0))[0] != rest:
            self._quiet[place] = (rest, now)

    async def _recount(self, place: tuple[Owned, str], rest: Rest) -> bool:
        (owned, job), (_, counters) = place, rest
        self._quiet.pop(place, None)
        began = time.monotonic()
        counted = owned.core.recount(job, now_ms()) if counters.accepted <= INLINE else await recounted(owned, job)
        took = time.monotonic() - began
        self._rest_until[place] = time.monotonic() + REST * took
        if counted is None:
            return False
        self._done[place] = rest
        return True

    def _forget_lost(self) -> None:
        memories: tuple[dict[tuple[Owned, str], Any], ...] = (self._done, self._quiet, self._rest_until)
        for memory in memories:
            for place in [place for place in memory if not place[0].kept]:
                del memory[place]
