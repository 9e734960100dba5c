"""Whether one more fetch may start: room for another one by the pace, and for its body on the way to Kafka."""

import asyncio
import resource
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psutil

from odradek_fetcher import metrics
from odradek_fetcher.core.pace import Load, Pace

EVERY_S = 0.5


class Gate:
    """Counts open fetches, and the bytes of bodies from their arrival until Kafka has acknowledged them."""

    def __init__(self, pace: Pace, held_limit_bytes: int) -> None:
        self._pace, self._held_limit_bytes = pace, held_limit_bytes
        self._open = 0
        self._held_bytes = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        metrics.OPEN.set_function(lambda: self._open)
        metrics.HELD.set_function(lambda: self._held_bytes)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """One fetch, begun when there is room."""
        while not self._room():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self.wake()

    def hold(self, size_bytes: int) -> Callable[[], None]:
        """A body has come; call what is returned when it has gone."""
        self._held_bytes += size_bytes
        left = [size_bytes]

        def release() -> None:
            if left:
                self._held_bytes -= left.pop()
                self.wake()

        return release

    def wake(self) -> None:
        """Let those go on for whom there is room."""
        for _ in range(self._pace.limit - self._open):
            while self._waiting and self._waiting[0].done():
                self._waiting.popleft()
            if not self._waiting:
                return
            self._waiting.popleft().set_result(None)

    def _room(self) -> bool:
        return self._open < self._pace.limit and self._held_bytes < self._held_limit_bytes


async def keep_pace(pace: Pace, gate: Gate) -> None:
    """Adjust the pace to the machine's load, for ever."""
    process = psutil.Process()
    while True:
        begun, used = time.monotonic(), time.process_time()
        await asyncio.sleep(EVERY_S)
        elapsed_s = time.monotonic() - begun
        lag_s, busy = elapsed_s - EVERY_S, (time.process_time() - used) / elapsed_s
        memory = psutil.virtual_memory()
        files_free = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - process.num_fds()
        metrics.LIMIT.set(pace.adjust(Load(lag_s, busy, memory.available / memory.total, files_free)))
        gate.wake()


def raise_file_limit() -> None:
    """Take as many file descriptors as this process may have; each connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
