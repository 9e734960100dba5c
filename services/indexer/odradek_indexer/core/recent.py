"""The newest events, as bulk lines, for a search engine that forgets its last seconds when it is killed."""

from collections import deque
from collections.abc import Sequence

KEPT_BYTES = 32 * 1024 * 1024


class Recent:
    """Events in the order in which they were stored, the newest `KEPT_BYTES` of them."""

    def __init__(self) -> None:
        self._parts: deque[tuple[float, Sequence[bytes], int]] = deque()
        self._bytes = 0

    def add(self, lines: Sequence[bytes], now_s: float) -> None:
        """These were stored now (monotonic seconds)."""
        size = sum(map(len, lines))
        self._parts.append((now_s, lines, size))
        self._bytes += size
        while self._bytes > KEPT_BYTES:
            self._drop()

    def drop_before(self, then_s: float) -> None:
        """What was stored before is on disk by now."""
        while self._parts and self._parts[0][0] < then_s:
            self._drop()

    def lines(self) -> list[bytes]:
        """All of them."""
        return [line for _, lines, _ in self._parts for line in lines]

    def __len__(self) -> int:
        return len(self._parts)

    def _drop(self) -> None:
        self._bytes -= self._parts.popleft()[2]
