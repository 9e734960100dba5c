"""Which offset may be committed when records finish out of order: the low-water mark of one partition."""


class OffsetTracker:
    """Records of one partition that are in hand. Everything below `committable` is finished."""

    def __init__(self, expected: int | None = None) -> None:
        self.expected = expected
        """Offset of the next record if nothing is missing; None: any."""
        self._open: dict[int, None] = {}
        self._committed: int | None = None

    def start(self, offset: int) -> None:
        """A record came in; offsets come in rising order, with or without gaps."""
        self._open[offset] = None
        self.expected = offset + 1

    def finish(self, offset: int) -> None:
        """A record is done; finishing one that is not open changes nothing."""
        self._open.pop(offset, None)

    @property
    def mark(self) -> int | None:
        """The low-water mark: the first offset not finished; None while nothing is known."""
        return next(iter(self._open), self.expected)

    def committable(self) -> int | None:
        """The offset to commit (the next one to read), or None when the last commit still stands."""
        return None if self.mark == self._committed else self.mark

    def committed(self, offset: int | None) -> None:
        """Kafka has been told this offset; None: it refused, so that the mark is committable again."""
        self._committed = offset

    def __len__(self) -> int:
        return len(self._open)
