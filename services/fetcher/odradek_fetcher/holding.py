"""Bodies on their way to Kafka: how much of them there is, and whether more may come."""

import asyncio
from collections.abc import Callable

from odradek_fetcher import metrics


class Held:
    """Counts the bytes of bodies from their arrival until Kafka has acknowledged them."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._free = asyncio.Event()
        self._free.set()

    async def room(self) -> None:
        """Wait while the limit is exceeded."""
        await self._free.wait()

    def hold(self, size_bytes: int) -> Callable[[], None]:
        """A body has come; call what is returned when it has gone."""
        self._add(size_bytes)
        left = [size_bytes]

        def release() -> None:
            if left:
                self._add(-left.pop())

        return release

    def _add(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        metrics.HELD.set(self._bytes)
        if self._bytes < self._limit_bytes:
            self._free.set()
        else:
            self._free.clear()
