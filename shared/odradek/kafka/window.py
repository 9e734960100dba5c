"""What is in hand: records read from Kafka and not yet finished, bounded in number and bytes.

Shared by the consumer's thread, which fills it and commits its marks, and the event loop, which empties it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Condition
from time import monotonic

from odradek.kafka.offsets import OffsetTracker
from odradek.kafka.records import Record

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True, slots=True)
class Window:
    """What may be in hand at once."""

    records: int
    """At least twice what is handled at once, so that finished records can wait for acknowledgement meanwhile."""
    size_bytes: int = 64 * 1024 * 1024
    fetch_wait_ms: int | None = None
    """How long the broker waits for a batch before it answers; None: it answers at once."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that retention cut off before they were read."""

    partition: int
    first_missing: int
    next_read: int


class InHand:
    """The window's state. Every method may be called from any thread."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._trackers: dict[int, OffsetTracker] = {}
        self._sizes: dict[Place, int] = {}
        self._waiting: set[Place] = set()
        self._bytes = 0
        self._dirty = False
        self._finished_at = 0.0
        self._closed = False
        self._abandoned = False
        self._changed = Condition()

    def own(self, partition: int, expected: int | None) -> None:
        """A partition is ours; None: where reading begins is not known."""
        with self._changed:
            self._trackers[partition] = OffsetTracker(expected)

    def take(self, records: Iterable[Record]) -> tuple[list[Record], list[Gap]]:
        """Records came in; returns those of partitions that are ours, and the gaps before them."""
        taken, gaps = [], []
        with self._changed:
            for record in records:
                tracker = self._trackers.get(record.partition)
                if tracker is None:
                    continue
                if tracker.expected is not None and record.offset > tracker.expected:
                    gaps.append(Gap(record.partition, tracker.expected, record.offset))
                tracker.start(record.offset)
                place, size = (record.partition, record.offset), len(record.value or b"")
                self._sizes[place] = size
                self._waiting.add(place)
                self._bytes += size
                taken.append(record)
        return taken, gaps

    def begin(self, record: Record) -> bool:
        """True when the record is to be handled; False when its partition went away, or the end has come, before."""
        place = (record.partition, record.offset)
        with self._changed:
            if self._closed or place not in self._waiting:
                return False
            self._waiting.discard(place)
            return True

    def begin_all(self, records: Iterable[Record]) -> list[Record]:
        """Those of the records that are to be handled."""
        with self._changed:
            if self._closed:
                return []
            waiting = self._waiting
            begun = [record for record in records if (record.partition, record.offset) in waiting]
            waiting.difference_update([(record.partition, record.offset) for record in begun])
            return begun

    def finish(self, records: Iterable[Record]) -> None:
        """These are done and acknowledged."""
        with self._changed:
            for record in records:
                size = self._sizes.pop((record.partition, record.offset), None)
                if size is not None:
                    self._bytes -= size
                    self._trackers[record.partition].finish(record.offset)
            self._dirty = True
            self._finished_at = monotonic()
            self._changed.notify_all()

    def quiet(self, seconds: float) -> bool:
        """True when nothing has been in hand for so long, with marks to tell."""
        return self._dirty and not self._sizes and monotonic() - self._finished_at >= seconds

    @property
    def idle(self) -> bool:
        """True while nothing is in hand and every mark is told."""
        return not (self._sizes or self._dirty)

    def free(self) -> int:
        """How many records there is room for."""
        return self._window.records - len(self._sizes) if self._bytes < self._window.size_bytes else 0

    def wait_free(self, records: int, timeout_s: float) -> int:
        """Wait until there is room for so many or the time is over; returns the room there is."""
        with self._changed:
            self._changed.wait_for(lambda: self._abandoned or self.free() >= records, timeout=timeout_s)
            return self.free()

    def marks(self) -> dict[int, int]:
        """Low-water marks that Kafka has not been told, by partition; they count as told from now on."""
        with self._changed:
            if not self._dirty:
                return {}
            self._dirty = False
            found = {part: mark for part, each in self._trackers.items() if (mark := each.committable()) is not None}
            for partition, mark in found.items():
                self._trackers[partition].committed(mark)
            return found

    def refused(self, partitions: Iterable[int]) -> None:
        """Kafka did not take these partitions' marks: they are told again."""
        with self._changed:
            for partition in partitions:
                if partition in self._trackers:
                    self._trackers[partition].committed(None)
                    self._dirty = True

    def skipped(self) -> None:
        """Reading began beyond a gap: that mark is worth a commit of its own."""
        with self._changed:
            self._dirty = True

    def drain(self, partitions: Iterable[int], deadline: float) -> bool:
        """Take back what nobody has begun and wait for the rest until `deadline` (monotonic); True: all is done."""
        gone = set(partitions)
        with self._changed:
            for place in [place for place in self._waiting if place[0] in gone]:
                self._waiting.discard(place)
                self._bytes -= self._sizes.pop(place)
            return self._changed.wait_for(
                lambda: self._abandoned or not any(part in gone for part, _ in self._sizes),
                timeout=max(0.0, deadline - monotonic()),
            )

    def disown(self, partitions: Iterable[int]) -> None:
        """Partitions are no longer ours; whatever still comes of them is ignored."""
        gone = set(partitions)
        with self._changed:
            for place in [place for place in self._sizes if place[0] in gone]:
                self._waiting.discard(place)
                self._bytes -= self._sizes.pop(place)
            for partition in gone:
                self._trackers.pop(partition, None)

    def close(self) -> None:
        """Nothing is begun any more."""
        with self._changed:
            self._closed = True

    def abandon(self) -> None:
        """Nobody will finish what is in hand: wait for nothing any more."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def positions(self) -> dict[int, int]:
        """Low-water mark of each partition of ours where one is known."""
        with self._changed:
            return {part: each.mark for part, each in self._trackers.items() if each.mark is not None}

    def partitions(self) -> set[int]:
        """The partitions that are ours."""
        with self._changed:
            return set(self._trackers)

    def __len__(self) -> int:
        return len(self._sizes)
