"""The local tables: one RocksDB for each frontier partition, four tables in it, a cache of their changelogs.

Recovery keeps, per key, the value with the higher frontier offset and not the later record (rule B). A value knows
its offset; a tombstone brings it in a Kafka header, and leaves a marker here, so that an older value which a paused
former owner still sends cannot raise the dead.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import rocksdict
from rocksdict import (
    BlockBasedOptions,
    Cache,
    DbClosedError,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteBufferManager,
)

from odradek_scheduler.core.tables import TableName, Write

MIB: Final = 1024 * 1024
OFFSET_HEADER: Final = "frontier-offset"
"""Header of a changelog tombstone: the frontier offset at which the key died."""
MARKER_LIFE_S: Final = 3600
"""A marker outlives every former owner that could still send."""

_PREFIX: Final[dict[TableName, bytes]] = {"seen": b"s", "backlog": b"b", "hosts": b"h", "ledger": b"l"}
_MARKER: Final = b"t"
_CHANGELOG_OFFSET: Final = b"o"

ValueOffset = Callable[[TableName, bytes], int]
Record = tuple[bytes, bytes | None, int]
"""Key, value (None: a tombstone), frontier offset of the tombstone."""


class TablesClosed(Exception):  # noqa: N818  (no error: the partition has gone elsewhere)
    """The partition was taken away while somebody read its tables."""


def shared_cache(size_bytes: int = 64 * MIB) -> Any:
    """One block cache for all partitions of a process."""
    return Cache(size_bytes)


def shared_buffers(size_bytes: int = 64 * MIB) -> Any:
    """What has been written and is not on disk yet, of all partitions of a process."""
    return WriteBufferManager(size_bytes, allow_stall=False)


class PartitionStore:
    """The four tables of one partition on disk."""

    def __init__(self, path: Path, cache: Any, value_offset: ValueOffset, buffers: Any = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._value_offset = value_offset
        self._closed = False
        self._marked: set[bytes] = set()
        """Prefixes of tables that have markers; others need not be asked."""
        self._db: Any = Rdict(str(path), _options(cache, buffers))
        self._drop_old_markers(time.time())

    def get(self, table: TableName, key: bytes) -> bytes | None:
        """The value of a key, or None.

        Raises:
            TablesClosed: the store was closed.
        """
        try:
            found: bytes | None = self._db.get(_PREFIX[table] + key)
        except DbClosedError:
            raise TablesClosed from None
        return found

    def scan(self, table: TableName, prefix: bytes, first: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys that begin with `prefix` and are not below `first`, with their values, in key order, as of now.

        Raises:
            TablesClosed: the store was closed, before or while the iterator is used.
        """
        name = _PREFIX[table]
        return ((key[1:], value) for key, value in self._range(name + prefix, name + max(prefix, first)))

    def write(self, writes: Iterable[Write]) -> None:
        """Lay the writes of one batch down together; a value of None is a tombstone."""
        batch = WriteBatch(raw_mode=True)
        for write in writes:
            full = _PREFIX[write.table] + write.key
            if write.value is None:
                self._bury(batch, full, write.offset)
            else:
                batch.put(full, write.value)
        self._db.write(batch)

    def _bury(self, batch: Any, full: bytes, offset: int) -> None:
        batch.delete(full)
        batch.put(_MARKER + full, b"%d %d" % (offset, time.time()))
        self._marked.add(full[:1])

    def recover(self, table: TableName, records: Iterable[Record]) -> int:
        """Lay changelog records over the table, the newest per key winning; returns how many changed something."""
        prefix, newest = _PREFIX[table], dict[bytes, tuple[int, bytes | None]]()
        for key, value, died in records:
            offset = died if value is None else self._value_offset(table, value)
            known = newest.get(key)
            if known is None or offset >= known[0]:
                newest[key] = (offset, value)
        names = [prefix + key for key in newest]
        held = self._db.get(names)
        graves = self._db.get([_MARKER + name for name in names]) if prefix in self._marked else [None] * len(names)
        batch, changed = WriteBatch(raw_mode=True), 0
        for full, have, grave, (offset, value) in zip(names, held, graves, newest.values(), strict=True):
            alive = -1 if have is None else self._value_offset(table, have)
            if offset < alive or (grave is not None and offset < _died(grave)):
                continue
            changed += value != have
            if value is None:
                self._bury(batch, full, offset)
            elif value != have:
                batch.put(full, value)
        self._db.write(batch)
        return changed

    def changelog_offset(self, table: TableName) -> int | None:
        """Up to which record of the table's changelog everything is in here, or None."""
        found = self._db.get(_CHANGELOG_OFFSET + _PREFIX[table])
        return None if found is None else int(found)

    def set_changelog_offset(self, table: TableName, offset: int) -> None:
        """Remember that every changelog record up to this one is in here."""
        self._db.put(_CHANGELOG_OFFSET + _PREFIX[table], b"%d" % offset)

    def close(self) -> None:
        """Let the files go."""
        self._closed = True
        self._db.close()

    def _drop_old_markers(self, now_s: float) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in self._range(_MARKER, _MARKER):
            if int(value.split(b" ")[1]) < now_s - MARKER_LIFE_S:
                batch.delete(key)
            else:
                self._marked.add(key[1:2])
        self._db.write(batch)

    def _range(self, prefix: bytes, first: bytes) -> Iterator[tuple[bytes, bytes]]:
        options, end = ReadOptions(), _after(prefix)
        options.set_iterate_upper_bound(end)
        try:
            rows = self._db.items(from_key=first, read_opt=options)
        except DbClosedError:
            raise TablesClosed from None
        return self._while_open(rows, (options, end))

    def _while_open(
        self,
        rows: Iterator[tuple[bytes, bytes]],
        kept: tuple[Any, bytes],  # noqa: ARG002  (RocksDB points into both, so they must live as long)
    ) -> Iterator[tuple[bytes, bytes]]:
        """RocksDB lets its lock go only when nobody iterates any more."""
        for row in rows:
            if self._closed:
                raise TablesClosed
            yield row


class Stores:
    """The open stores of a process, by partition."""

    def __init__(self, folder: Path, value_offset: ValueOffset) -> None:
        self._folder = folder
        self._value_offset = value_offset
        self._cache, self._buffers = shared_cache(), shared_buffers()
        self._open: dict[int, PartitionStore] = {}

    def of(self, partition: int) -> PartitionStore:
        """The partition's store, opened when it is not."""
        store = self._open.get(partition)
        if store is None:
            store = self._open[partition] = PartitionStore(
                self._path(partition), self._cache, self._value_offset, self._buffers
            )
        return store

    def close(self, partition: int) -> None:
        """Close the partition's store if it is open; nobody may use it any more."""
        store = self._open.pop(partition, None)
        if store is not None:
            store.close()

    def is_open(self, partition: int) -> bool:
        """True while somebody may use the partition's store."""
        return partition in self._open

    def discard(self, partition: int) -> None:
        """Throw the partition's files away and begin with nothing."""
        self.close(partition)
        shutil.rmtree(self._path(partition))

    def close_all(self) -> None:
        """Close every store."""
        for partition in list(self._open):
            self.close(partition)

    def _path(self, partition: int) -> Path:
        return self._folder / f"partition-{partition}"


def _died(marker: bytes) -> int:
    """The frontier offset in a marker."""
    return int(marker[: marker.index(b" ")])


def _after(prefix: bytes) -> bytes:
    """The first key behind all that begin with `prefix`."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,))


def _options(cache: Any, buffers: Any) -> Any:
    options = Options(raw_mode=True)
    options.create_if_missing(create_if_missing=True)
    options.set_write_buffer_size(8 * MIB)
    if buffers is not None:
        options.set_write_buffer_manager(buffers)
    options.set_max_write_buffer_number(3)
    options.set_max_open_files(64)
    options.set_keep_log_file_num(2)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    blocks.set_bloom_filter(10, block_based=False)
    options.set_block_based_table_factory(blocks)
    return options
