"""Which offset may be committed when records finish out of order: the low-water mark of each partition."""


class OffsetTracker:
    """Records of one partition that are in hand. Everything below `committable` is finished."""

    def __init__(self) -> None:
        self._open: dict[int, None] = {}
        self._next: int | None = None
        self._committed: int | None = None

    def start(self, offset: int) -> None:
        """A record came in; offsets come in rising order."""
        self._open[offset] = None
        self._next = offset + 1

    def finish(self, offset: int) -> None:
        """A record is done; finishing one that is not open changes nothing."""
        self._open.pop(offset, None)

    def committable(self) -> int | None:
        """The offset to commit (the next one to read), or None when the last commit still stands."""
        if self._next is None:
            return None
        mark = next(iter(self._open), self._next)
        return None if mark == self._committed else mark

    def committed(self, offset: int) -> None:
        """Kafka has this commit."""
        self._committed = offset

    def __len__(self) -> int:
        return len(self._open)
