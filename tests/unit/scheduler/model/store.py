"""The four tables of one partition as they behave under Faust: a local store and a changelog for each table.

After a kill each changelog keeps an arbitrary prefix, and the local store is wiped, or ahead of it with a checkpoint
anywhere. Recovery keeps, per key, the value with the higher frontier offset. An owner that was only paused sends what
it had buffered behind its successor's records, and may then own the partition again, with the local store it had.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek_scheduler.core.tables import TABLE_NAMES, TableName, Write, value_offset

from .choices import Choices


class Asleep(NamedTuple):
    """What a paused former owner has on its disk."""

    local: dict[bytes, bytes]
    dead: dict[bytes, int]
    persisted: int
    """It takes everything before this record of the changelog to be in there."""


class Table:
    def __init__(self, name: TableName) -> None:
        self.name = name
        self.local: dict[bytes, bytes] = {}
        self.dead: dict[bytes, int] = {}
        self.log: list[Write] = []
        self.durable = self.floor = 0
        self.buffered: list[Write] = []
        """What a paused former owner has not sent yet."""
        self.asleep: Asleep | None = None

    def put(self, write: Write) -> None:
        self.log.append(write)
        self._lay(write)

    def _lay(self, write: Write) -> None:
        if write.value is None:
            self.local.pop(write.key, None)
            self.dead[write.key] = write.offset
        else:
            self.local[write.key] = write.value

    def flush(self) -> None:
        self.durable = self.floor = len(self.log)

    def flush_some(self, choose: Choices) -> None:
        self.durable += choose(len(self.log) - self.durable + 1)

    def crash(self, choose: Choices, *, zombie: bool, newest_wins: bool) -> None:
        self.flush_some(choose)
        self.asleep = Asleep(dict(self.local), dict(self.dead), self.floor) if zombie else None
        if zombie and choose(2):
            self.buffered = self.log[self.durable :]
        del self.log[self.durable :]
        start = 0
        if choose(2):
            start = self.floor + choose(self.durable - self.floor + 1)
        else:
            self.local, self.dead = {}, {}
        self._recover(start, newest_wins=newest_wins)

    def _recover(self, start: int, *, newest_wins: bool) -> None:
        for write in self.log[start:]:
            if not newest_wins or write.offset >= self._offset(write.key):
                self._lay(write)

    def wake_zombie(self, choose: Choices, *, by_commit: bool) -> None:
        self.flush_some(choose)
        at = self.durable
        if self.asleep is not None and self.buffered and not by_commit:
            self.asleep = self.asleep._replace(persisted=at + len(self.buffered))
        self.log[at:at] = self.buffered
        self.durable += len(self.buffered)
        self.floor = min(self.floor, at)
        self.buffered = []

    def come_back(self, choose: Choices, *, newest_wins: bool) -> None:
        """The former owner has the partition again."""
        assert self.asleep is not None
        self.flush_some(choose)
        del self.log[self.durable :]
        self.local, self.dead, persisted = self.asleep
        self.floor, self.asleep = persisted, None
        self._recover(persisted, newest_wins=newest_wins)

    def _offset(self, key: bytes) -> int:
        value = self.local.get(key)
        alive = -1 if value is None else value_offset(self.name, value)
        return max(alive, self.dead.get(key, -1))


class Store:
    """`Tables`, and what the shell does with writes."""

    def __init__(self) -> None:
        self.tables = {name: Table(name) for name in TABLE_NAMES}
        self.changes = 0
        """Grows with whatever changes a local table."""

    def get(self, table: TableName, key: bytes) -> bytes | None:
        return self.tables[table].local.get(key)

    def scan(self, table: TableName, prefix: bytes, first: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        local = self.tables[table].local
        return iter([(key, local[key]) for key in sorted(local) if key.startswith(prefix) and key >= first])

    def put(self, write: Write) -> None:
        self.changes += 1
        self.tables[write.table].put(write)

    def flush(self) -> None:
        for table in self.tables.values():
            table.flush()

    def flush_some(self, choose: Choices) -> None:
        for table in self.tables.values():
            table.flush_some(choose)

    def crash(self, choose: Choices, *, zombie: bool, newest_wins: bool) -> None:
        self.changes += 1
        for table in self.tables.values():
            table.crash(choose, zombie=zombie, newest_wins=newest_wins)

    @property
    def haunted(self) -> bool:
        return any(table.buffered for table in self.tables.values())

    @property
    def may_come_back(self) -> bool:
        return not self.haunted and all(table.asleep is not None for table in self.tables.values())

    def wake_zombie(self, choose: Choices, *, by_commit: bool) -> None:
        for table in self.tables.values():
            table.wake_zombie(choose, by_commit=by_commit)

    def come_back(self, choose: Choices, *, newest_wins: bool) -> None:
        self.changes += 1
        for table in self.tables.values():
            table.come_back(choose, newest_wins=newest_wins)
