"""Who is served next when several hosts are free."""

from collections import deque
from heapq import heappop, heappush
from typing import Final

from odradek_scheduler.core.queues import HostQueue

_FEW: Final = 8
"""Most hosts stand in one line, and a set for each would take more room than all else of them."""


class Turns:
    """Higher job priority first; jobs of one priority in turn; hosts of a job in turn.

    A host may stand in the lines of several jobs; whoever takes it out of one looks whether it still is free.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, deque[HostQueue]] = {}
        self._jobs: list[tuple[int, int, str]] = []
        self._places: dict[str, tuple[int, int]] = {}
        """Where each job with a line stands among the jobs; what else is in the heap is over."""
        self._turn = 0

    def __len__(self) -> int:
        return sum(map(len, self._hosts.values()))

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def add(self, job: str, priority: int, host: HostQueue) -> None:
        """The host can be served for this job."""
        _stand(host, job)
        line = self._hosts.get(job)
        if line is None:
            self._hosts[job] = deque((host,))
            self._place(job, -priority)
        else:
            line.append(host)

    def prioritise(self, job: str, priority: int) -> None:
        """The job's priority, which may have changed while it has a line."""
        if job in self._places and self._places[job][0] != -priority:
            self._place(job, -priority)

    def pop(self) -> tuple[str, HostQueue]:
        """Whose turn it is. IndexError when there is nobody."""
        rank, turn, job = heappop(self._jobs)
        while self._places.get(job) != (rank, turn):
            rank, turn, job = heappop(self._jobs)
        line = self._hosts[job]
        host = line.popleft()
        if line:
            self._place(job, rank)
        else:
            del self._hosts[job], self._places[job]
        _leave(host, job)
        return job, host

    def _place(self, job: str, rank: int) -> None:
        self._turn += 1
        self._places[job] = (rank, self._turn)
        heappush(self._jobs, (rank, self._turn, job))


def _stand(host: HostQueue, job: str) -> None:
    lines = host.lines
    if isinstance(lines, set):
        lines.add(job)
    else:
        host.lines = (*lines, job) if len(lines) < _FEW else {*lines, job}


def _leave(host: HostQueue, job: str) -> None:
    lines = host.lines
    if isinstance(lines, set):
        lines.discard(job)
        host.lines = lines or ()
    else:
        host.lines = tuple(each for each in lines if each != job)
