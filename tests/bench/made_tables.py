"""Tables of a partition that are made up as they are read, so that a hundred million URLs need no disk.

What was written lies over them. They hold what `Filling` would have written, all rows of `seen` included.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from tests.bench.internet import (
    FOUND,
    MERGED,
    RUN,
    fingerprint,
    host_name,
    host_row,
    page_count,
    rank_of,
    robots_row,
    seen_row,
)

from odradek_scheduler.core.keys import page_key, robots_key, split_page_key
from odradek_scheduler.core.state import Page, pack
from odradek_scheduler.core.tables import TABLE_NAMES, TableName, Write


class MadeTables:
    """Of the hosts with these ranks; `counts`: URLs pending of all hosts."""

    def __init__(self, ranks: Sequence[int], counts: Sequence[int], first_offset: int) -> None:
        self._ranks, self._counts = ranks, counts
        self._written: dict[TableName, dict[bytes, bytes | None]] = {name: {} for name in TABLE_NAMES}
        self._first = array("q", bytes(8 * len(counts)))
        self.urls = self.pages = 0
        for rank in ranks:
            self._first[rank] = first_offset + self.pages
            self.pages += page_count(counts[rank])
            self.urls += counts[rank]
        self.next_offset = first_offset + self.pages

    def get(self, table: TableName, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        written = self._written[table]
        if key in written:
            return written[key]
        if table == "seen":
            return self._seen(key)
        if table == "hosts":
            return self._host(key)
        return self._page(key) if table == "backlog" else None

    def scan(self, table: TableName, prefix: bytes, first: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys that begin with `prefix`; of the backlog those of one host in order, but hosts in any."""
        written = self._written[table]
        if table == "hosts":  # asked for one host's robots.txt only
            name = robots_key(key := prefix.removesuffix(b"\0").decode(), f"https://www.{key}")
            yield name, written.get(name) or robots_row()
            return
        if table == "backlog" and not prefix:
            yield from self._pages(written)
        for name, value in sorted((key, value) for key, value in written.items() if value and key.startswith(prefix)):
            if name >= first:
                yield name, value

    def write(self, writes: Iterable[Write]) -> None:
        """What was made up is not true of these any more."""
        for write in writes:
            self._written[write.table][write.key] = write.value

    def _pages(self, written: dict[bytes, bytes | None]) -> Iterator[tuple[bytes, bytes]]:
        small, large = b"x" * (len(fingerprint(0, 0)) + 3) * FOUND, b"x" * (len(fingerprint(0, 0)) + 3) * MERGED
        for rank in self._ranks:
            offset, merged = self._first[rank], self._counts[rank] // MERGED
            host = page_key(RUN, host_name(rank), 50, 0)[:-16]
            for number in range(page_count(self._counts[rank])):
                key = host + b"%016x" % (offset + number)
                if key not in written:  # who builds an index looks at keys and sizes only
                    yield key, large if number < merged else small

    def _page(self, key: bytes) -> bytes | None:
        _, host, _, offset = split_page_key(key)
        rank = rank_of(host)
        place, count = offset - self._first[rank], self._counts[rank]
        if not 0 <= place < page_count(count):
            return None
        merged = count // MERGED
        start = place * MERGED if place < merged else merged * MERGED + (place - merged) * FOUND
        size = MERGED if place < merged else min(FOUND, count - start)
        return pack(Page(offset, [fingerprint(rank, number) for number in range(start, start + size)]))

    def _seen(self, key: bytes) -> bytes | None:
        fp = key[-32:]
        rank, number = int(fp[:12], 16), int(fp[12:], 16)
        return seen_row(rank, number, self._first[rank]) if number < self._counts[rank] else None

    def _host(self, key: bytes) -> bytes | None:
        return robots_row() if b"\0" in key else host_row()
