"""Until when news of a request, a page or a fact of one's own is waited for."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

from odradek_scheduler.core.queues import Flight, HostQueue

Leased = Flight | tuple[HostQueue, str]
"""A URL with something going on, or a host and an origin whose robots.txt is on its way."""

_OVER: Final = 4_096
"""So many leases may be over before they are cleared away: most are, long before their time."""


class Leases:
    """Leases by the time at which they pass; `runs(until_ms, what)`: nothing has ended or replaced it."""

    def __init__(self, runs: Callable[[int, Leased], bool]) -> None:
        self._runs = runs
        self._heap: list[tuple[int, int, Leased]] = []
        self._number = 0

    def add(self, what: Leased, until_ms: int, running: int) -> None:
        """One more; `running`: how many there are at most that are not over."""
        self._number += 1
        heappush(self._heap, (until_ms, self._number, what))
        if len(self._heap) > 2 * running + _OVER:
            self._heap = [lease for lease in self._heap if self._runs(lease[0], lease[2])]
            heapify(self._heap)

    def lapsed(self, now_ms: int) -> Leased | None:
        """What has waited in vain, one at a time; None: nothing more."""
        while self._heap and self._heap[0][0] <= now_ms:
            until_ms, _, what = heappop(self._heap)
            if self._runs(until_ms, what):
                return what
        return None

    def next_ms(self) -> int | None:
        """When the next one may pass."""
        return self._heap[0][0] if self._heap else None
