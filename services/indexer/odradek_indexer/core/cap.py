"""The most events that a search engine without retention of its own may keep (embedded: all of them are in memory)."""

from dataclasses import dataclass

MOST_AT_ONCE = 10_000
"""How far into a sorted search one may look (`index.max_result_window`)."""

SLACK = 20
"""The count is looked at every 1/20 of the cap, so that much may be kept above it."""


@dataclass(slots=True)
class EventCap:
    """Says when to look at the count, and how many of the oldest events have to go."""

    most: int
    """0: no cap."""
    _unseen: int = 0

    def __post_init__(self) -> None:
        self._unseen = self.most

    def due(self, written: int) -> bool:
        """True when, with `written` more events, the count is worth a look; at the start it is."""
        self._unseen += written
        return self.most > 0 and self._unseen >= max(self.most // SLACK, 1)

    def excess(self, count: int) -> int:
        """How many of the oldest have to go now, at most `MOST_AT_ONCE`; if more, look again at once."""
        over = max(count - self.most, 0)
        if over <= MOST_AT_ONCE:
            self._unseen = 0
        return min(over, MOST_AT_ONCE)
