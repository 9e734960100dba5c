"""The values one batch touches, and the writes that come of them.

A value without history (ledger, host, robots, job, home) comes with a flag: whether this batch counts for it, that is,
whether it is newer than the offset the value carries. The value is written again in any case (rule B).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import msgspec

from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.chronicle import Chronicle
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.keys import (
    home_key,
    host_key,
    job_key,
    ledger_key,
    page_key,
    robots_key,
    seen_key,
    share_key,
)
from odradek_scheduler.core.ledger import give_back
from odradek_scheduler.core.loads import HostCount
from odradek_scheduler.core.purging import Row
from odradek_scheduler.core.quarantine import Shelf
from odradek_scheduler.core.running import Renewal
from odradek_scheduler.core.sitemaps import Listing
from odradek_scheduler.core.state import (
    PENDING,
    PURGED,
    Home,
    Host,
    HostShare,
    Ledger,
    Page,
    Robots,
    Seen,
    pack,
    standing,
    unpack,
)
from odradek_scheduler.core.tables import TableName, Tables, Write

PageId = tuple[str, str, int]
"""Job and run, host, priority: together with the batch offset the key of a backlog page."""

K = TypeVar("K")
V = TypeVar("V", Ledger, Host, HostShare, Robots, Job, Home, Shelf, Listing, Renewal, Chronicle, HostCount)


class Touched:
    """Scratch of one batch over the tables and the cache."""

    def __init__(self, cache: Cache, tables: Tables, offset: int) -> None:
        self._cache, self._tables, self._offset = cache, tables, offset
        self._seen: dict[bytes, Seen | None] = {}
        self._changed: dict[bytes, Seen] = {}
        self._opened: dict[PageId, dict[str, None]] = {}
        self._dead_pages: dict[bytes, None] = {}
        self._forgotten: list[bytes] = []
        self._outlived: list[bytes] = []
        self.ledgers: dict[str, tuple[Ledger, bool]] = {}
        self.hosts: dict[str, tuple[Host, bool]] = {}
        self._robots: dict[tuple[str, str], tuple[Robots, bool]] = {}
        self._shares: dict[tuple[str, str], tuple[HostShare, bool]] = {}
        self._values: dict[bytes, tuple[Any, bool]] = {}
        self.jobs: dict[str, tuple[Job, bool]] = {}
        self.homes: dict[str, tuple[Home, bool]] = {}

    def seen(self, key: bytes) -> Seen | None:
        """A URL's record, as this batch has left it so far."""
        if key in self._seen:
            return self._seen[key]
        value = self._tables.get("seen", key)
        seen = self._seen[key] = None if value is None else unpack(Seen, value)
        return seen

    def seen_with(self, prefix: bytes, span: tuple[bytes, bytes], mark: bytes) -> list[tuple[bytes, Seen]]:
        """Records under a prefix whose stored value contains `mark`, and those this batch has touched.

        `span`: the first of the rest of the key, and what it ends before (empty: at the end of the prefix).
        """
        first, end = prefix + span[0], prefix + span[1]
        for key, value in self.rows(prefix, span):
            if key not in self._seen and mark in value:
                self._seen[key] = unpack(Seen, value)
        return [
            (key, seen)
            for key, seen in sorted(self._seen.items())
            if seen is not None and key.startswith(prefix) and key >= first and (not span[1] or key < end)
        ]

    def rows(self, prefix: bytes, span: tuple[bytes, bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Stored records under a prefix within a span, without what this batch changes."""
        end = prefix + span[1]
        for key, value in self._tables.scan("seen", prefix, prefix + span[0]):
            if span[1] and key >= end:
                return
            yield key, value

    def forget_seen(self, prefix: bytes, span: tuple[bytes, bytes]) -> None:
        """Records under a prefix within a span end with this batch."""
        self._forgotten += [key for key, _ in self.rows(prefix, span)]

    def forget_values(self, prefixes: Iterable[bytes], most: int) -> None:
        """Small values under these prefixes end with this batch, so many of them; nothing reads them any more."""
        for prefix in prefixes:
            room = most - len(self._outlived)
            self._outlived += [key for key, _ in islice(self._tables.scan("ledger", prefix), room)]

    def run_before(self, job: str) -> int:
        """The run of a job that is under way for this batch."""
        return self._cache.job(job).run_before(self._offset)

    def change(self, key: bytes, seen: Seen) -> None:
        """Write the record at the end."""
        self._seen[key] = self._changed[key] = seen

    def open(self, run: str, fp: str, seen: Seen) -> None:
        """The URL goes on this batch's page of its host and priority."""
        self._opened.setdefault((run, seen.key, seen.priority), {})[fp] = None

    def merge(self, page: PageId, sources: Iterable[int]) -> None:
        """The pages at these offsets end here; what the target holds already stays in it."""
        target = self._opened.setdefault(page, {})
        for offset in (self._offset, *sources):
            key = page_key(*page, offset)
            value = self._tables.get("backlog", key)
            if value is not None:
                target.update(dict.fromkeys(unpack(Page, value).fps))
            if offset < self._offset:
                self._dead_pages[key] = None

    def ledger(self, run: str) -> tuple[Ledger, bool]:
        """The ledger of a job and run."""
        return self.ledgers.get(run) or self._touch(self.ledgers, run, self._cache.ledger(run))

    def host(self, key: str) -> tuple[Host, bool]:
        """What is known of a host."""
        return self.hosts.get(key) or self._touch(self.hosts, key, self._cache.host(key))

    def answered_at(self, key: str, at_ms: int) -> bool:
        """The host rests from an answer at `at_ms` (0: there was none); true if nothing else had told of it yet.

        The host is written only then, or where this batch may have been what told of it.
        """
        known = self._cache.host(key) if at_ms else None
        if known is None or (known.offset < self._offset and known.last_at_ms >= at_ms):
            return False
        host, counts = self.host(key)
        if not counts or host.last_at_ms >= at_ms:
            return False
        host.last_at_ms = at_ms
        return True

    def share(self, run: str, key: str) -> tuple[HostShare, bool]:
        """A host's share of a job and run."""
        found = self._shares.get((run, key))
        return found or self._touch(self._shares, (run, key), self._cache.share(run, key))

    def value(self, kind: type[V], key: bytes) -> tuple[V, bool]:
        """Another small value of `ledger`."""
        return self._values.get(key) or self._touch(self._values, key, self._cache.value(kind, key))

    def robots(self, key: str, origin: str) -> tuple[Robots, bool]:
        """What is known of an origin's robots.txt."""
        found = self._robots.get((key, origin))
        return found or self._touch(self._robots, (key, origin), self._cache.robots(key, origin))

    def robots_told(self, text: str | None) -> None:
        """A robots.txt has this text now."""
        self._cache.robots_told(text)

    def job(self, job: str) -> tuple[Job, bool]:
        """What is known of a job."""
        return self.jobs.get(job) or self._touch(self.jobs, job, self._cache.job(job))

    @property
    def purged(self) -> set[str]:
        """Jobs of which no fact counts."""
        return self._cache.purged

    def purge(self, job: str, at_ms: int) -> None:
        """Of the job stays that it is purged."""
        record, _ = self.job(job)
        for name, empty in zip(Job.__struct_fields__, msgspec.structs.astuple(Job()), strict=True):
            if name not in ("offset", "version", "run"):
                setattr(record, name, empty)
        record.version, record.wanted, record.at_ms = max(record.version, 0), PURGED, at_ms
        self._cache.purged.add(job)

    def home(self, run: str) -> tuple[Home, bool]:
        """The budget of a job and run, in its home partition."""
        return self.homes.get(run) or self._touch(self.homes, run, self._cache.home(run))

    def has_home(self, run: str) -> bool:
        """True if a budget of this run is kept here."""
        return run in self._cache.homes

    def _touch(self, touched: dict[K, tuple[V, bool]], name: K, value: V) -> tuple[V, bool]:
        found = touched[name] = (value, self._offset > value.offset)
        return found

    def settle_pages(self) -> tuple[list[tuple[PageId, int]], list[Write]]:
        """The pages of this batch: those with an open URL and how many they hold, and the writes.

        A page without an open URL (a replay may find that all have ended) is a tombstone.
        """
        alive: list[tuple[PageId, int]] = []
        writes: list[Write] = []
        for page, fps in self._opened.items():
            value = None
            if any(self._is_open(page[0], fp) for fp in fps):
                alive.append((page, len(fps)))
                value = pack(Page(self._offset, list(fps)))
            writes.append(Write("backlog", page_key(*page, self._offset), value, self._offset))
        return alive, writes

    def _is_open(self, run: str, fp: str) -> bool:
        seen = self.seen(seen_key(run, fp))
        return seen is not None and standing(seen.steps).state == PENDING

    def writes(self, pages: list[Write], emptied: Iterable[bytes], purged: Iterable[Row] = ()) -> tuple[Write, ...]:
        """All changes in the order in which they must be applied: a page before the tombstones of its sources."""
        out = [Write("seen", key, pack(seen), seen.offset) for key, seen in self._changed.items()]
        out += [Write("seen", key, None, self._offset) for key in self._forgotten]
        out += pages
        out += [Write("backlog", key, None, self._offset) for key in (*self._dead_pages, *emptied)]
        self._stamp(out, "hosts", self.hosts, host_key)
        self._stamp(out, "hosts", self._robots, lambda origin: robots_key(*origin))
        self._stamp(out, "ledger", self._shares, lambda share: share_key(*share))
        self._stamp(out, "ledger", self._values, bytes)
        self._stamp(out, "ledger", self.jobs, job_key)
        self._stamp(out, "ledger", self.homes, home_key)
        self._stamp(out, "ledger", self.ledgers, ledger_key)
        out += [Write(table, key, None, self._offset) for table, key in purged]
        out += [Write("ledger", key, None, self._offset) for key in self._outlived]
        return tuple(out)

    def settle_permits(self) -> None:
        """At the end of the batch: permits that nobody can use any more go back."""
        for ledger, counts in self.ledgers.values():
            if counts:
                give_back(ledger)

    def _stamp(
        self, out: list[Write], table: TableName, touched: dict[K, tuple[V, bool]], key_of: Callable[[K], bytes]
    ) -> None:
        for name, (value, counts) in touched.items():
            if counts:
                value.offset = self._offset
            out.append(Write(table, key_of(name), pack(value), value.offset))
