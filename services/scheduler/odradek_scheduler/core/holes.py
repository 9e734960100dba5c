"""Finds partitions whose commits stand still although their records are worked off.

Faust commits what is finished without a hole behind the last commit (faust/transport/consumer.py, `_new_offset`). If
the record that the last commit points to is never finished, nothing behind it is committed, until the partition is read
from there again. Known ways to it are closed (`transport.py`), or retention has deleted the record; this is the net
below.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

PATIENCE_S = 20.0
"""A record takes milliseconds; those of a partition are worked off one after the other."""


@dataclass(slots=True)
class Holes:
    """Remembers since when there is a hole at the place of the last commit."""

    patience_s: float = PATIENCE_S
    _since: dict[Hashable, tuple[int, float]] = field(default_factory=dict)
    """By partition: the offset that was committed, and when the hole behind it was seen first."""

    def look(self, partition: Hashable, committed: int | None, finished: Iterable[int], now_s: float) -> int | None:
        """The offset that is never finished, once a hole has been there for too long.

        `committed`: the next record to be read by whoever comes; `finished`: offsets that wait to be committed.
        """
        first = min(finished, default=None)
        if committed is None or first is None or first <= committed:
            self._since.pop(partition, None)
            return None
        at, since_s = self._since.get(partition, (committed, now_s))
        if at != committed:
            since_s = now_s
        self._since[partition] = committed, since_s
        if now_s - since_s < self.patience_s:
            return None
        del self._since[partition]
        return committed
