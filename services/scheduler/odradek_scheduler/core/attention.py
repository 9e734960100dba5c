"""Which jobs are looked at for a report: what has changed, what waits for a newer position; of ten thousand few."""

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Final

_LOOKS: Final = 1_000
"""Jobs looked at in one call because something happened."""
_FIRST_LOOKS: Final = 100
"""Jobs with nothing pending looked at in one call after a take-over."""


class Attention:
    """`resting(job)`: its end was announced, and only what happens to it is worth a look."""

    def __init__(self, resting: Callable[[str], bool]) -> None:
        self._resting = resting
        self._called: dict[str, None] = {}
        self._unseen: deque[str] = deque()
        self._later: list[tuple[int, str]] = []
        self._listed: set[str] = set()

    def begin(self, jobs: Iterable[str], urgent: Callable[[str], bool]) -> None:
        """After a take-over all are new; the urgent ones come first."""
        for job in jobs:
            if urgent(job):
                self._called[job] = None
            else:
                self._unseen.append(job)

    def call(self, job: str) -> None:
        """Something has happened to the job."""
        self._called[job] = None

    def later(self, job: str, at_ms: int) -> None:
        """Look at it then, unless it rests; what was said before about a later look stays."""
        if job not in self._listed and not self._resting(job):
            self._listed.add(job)
            heappush(self._later, (at_ms, job))

    def take(self, now_ms: int) -> list[str]:
        """The jobs to be looked at now, a bounded number."""
        taken: dict[str, None] = {}
        while self._called and len(taken) < _LOOKS:
            job, _ = self._called.popitem()
            taken[job] = None
        while self._later and self._later[0][0] <= now_ms and len(taken) < 2 * _LOOKS:
            _, job = heappop(self._later)
            self._listed.discard(job)
            taken[job] = None
        looks = 0
        while self._unseen and looks < _FIRST_LOOKS:
            job = self._unseen.popleft()
            if not self._resting(job):
                taken[job] = None
                looks += 1
        return list(taken)
