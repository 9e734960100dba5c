"""Who is served next when several hosts are free."""

from collections import deque
from heapq import heappop, heappush

from odradek_scheduler.core.queues import HostQueue


class Turns:
    """Higher job priority first; jobs of one priority in turn; hosts of a job in turn.

    A host may stand in the lines of several jobs; whoever takes it out of one looks whether it still is free.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, deque[HostQueue]] = {}
        self._jobs: list[tuple[int, int, str]] = []
        self._turn = 0

    def __len__(self) -> int:
        return sum(map(len, self._hosts.values()))

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: str, priority: int, host: HostQueue) -> None:
        """The host can be served for this job."""
        host.lines = (*host.lines, job)
        line = self._hosts.get(job)
        if line is None:
            self._hosts[job] = deque((host,))
            heappush(self._jobs, (-priority, self._next(), job))
        else:
            line.append(host)

    def pop(self) -> tuple[str, HostQueue]:
        """Whose turn it is. IndexError when there is nobody."""
        priority, _, job = heappop(self._jobs)
        line = self._hosts[job]
        host = line.popleft()
        if line:
            heappush(self._jobs, (priority, self._next(), job))
        else:
            del self._hosts[job]
        host.lines = tuple(each for each in host.lines if each != job)
        return job, host

    def _next(self) -> int:
        self._turn += 1
        return self._turn
