"""The most events that a search engine without retention of its own may keep (embedded: all of them are in memory)."""

from dataclasses import dataclass

MOST_AT_ONCE = 10_000
"""How far into a sorted search one may look (`index.max_result_window`)."""

SPARE = 5
"""At the cap every fifth event goes, so that the count is looked at seldom: a look costs the embedded engine as much as
it has events, 60 µs each."""


@dataclass(slots=True)
class EventCap:
    """Says when to look at the count, and how many of the oldest events have to go."""

    most: int
    """0: no cap. Each of several indexers may write as many as there was room for when it looked."""
    _room: int = 0
    """Events that may come before the count is worth a look."""

    def due(self, written: int) -> bool:
        """True when, with `written` more events, the cap may be reached; at the start it is."""
        self._room -= written
        return self.most > 0 and self._room <= 0

    def excess(self, count: int) -> int:
        """How many of the oldest have to go now, at most `MOST_AT_ONCE`."""
        return min(count - self.most + self.most // SPARE, MOST_AT_ONCE) if count >= self.most else 0

    def left(self, count: int) -> None:
        """So many are left; unless it is told, the next batch looks again."""
        self._room = max(self.most - count, 0)
