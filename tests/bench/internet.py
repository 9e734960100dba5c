"""A simulated internet for the frontier's core: many hosts with URLs pending, and sites that answer by a clock."""

import gc
import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Final

from odradek.contracts import Discovered, Fact, Fetched, FetchRequest, Parsed
from odradek.runtime.lifecycle import calm_collector
from odradek.urls import partition_of
from odradek_scheduler.core.keys import host_key, page_key, robots_key, run_id, seen_key
from odradek_scheduler.core.partition import Dispatched, ToPartition
from odradek_scheduler.core.state import ACCEPTED, Host, Page, Robots, Seen, Step, pack
from odradek_scheduler.core.tables import Write
from odradek_scheduler.store import PartitionStore

JOB: Final = "internet"
RUN: Final = run_id(JOB, 1)
START_MS: Final = 1_700_000_000_000
KNOWN_FOR_MS: Final = 24 * 3_600_000
SKEW: Final = 0.8
"""Of a host's URLs by its rank: of a million hosts with a hundred each on average, the first has a million, half of
them fewer than 36."""
FOUND: Final = 2
"""New URLs of its own host that a crawled page finds: a page of the backlog."""
MERGED: Final = 128 * FOUND
"""A page after merging."""
ROBOTS: Final = "User-agent: *\n" + "".join(f"Disallow: /{word}/\n" for word in ("admin", "cart", "login", "search"))
LATENCY_MS: Final = 200
PARSING_MS: Final = 100
THROTTLED: Final = 50
"""Every so many-th host answers every other page with 429."""
ROWS_TOGETHER: Final = 1_000


def urls_of_hosts(hosts: int, urls: int) -> "array[int]":
    """How many URLs are pending of each host, by its rank; in all about `urls`."""
    weights = [(rank + 1) ** -SKEW for rank in range(hosts)]
    each = urls / sum(weights)
    return array("q", (max(1, round(each * weight)) for weight in weights))


def host_name(rank: int) -> str:
    """The politeness key of a host."""
    return f"site-{rank}.example"


def rank_of(key: str) -> int:
    """The host's rank."""
    return int(key[5:-8])


def url_of(rank: int, number: int) -> str:
    """One of its URLs."""
    return f"https://www.{host_name(rank)}/catalogue/category-{number % 97}/product-{number}.html"


def fingerprint(rank: int, number: int) -> str:
    """32 hexadecimal digits that say which URL it is."""
    return f"{rank:012x}{number:020x}"


def page_count(urls: int) -> int:
    """Pages of a host's backlog, as merging leaves them: large ones first, then small ones."""
    return urls // MERGED + -(-(urls % MERGED) // FOUND)


def seen_row(rank: int, number: int, offset: int) -> bytes:
    """A URL that was accepted."""
    steps = [Step(offset, 0, ACCEPTED)]
    return pack(Seen(offset, url_of(rank, number), host_name(rank), 3, 50, False, steps, url_of(rank, 0)))


def host_row() -> bytes:
    """A host that was asked before."""
    return pack(Host(0, START_MS - KNOWN_FOR_MS // 2, fetches=10, latency_ms=LATENCY_MS))


def robots_row() -> bytes:
    """Its robots.txt."""
    return pack(Robots(0, START_MS + KNOWN_FOR_MS, ROBOTS, START_MS, 200))


class Filling:
    """Writes the backlog of one partition as the fold and its merges leave it, its hosts having been asked before."""

    def __init__(self, store: PartitionStore, rows_a_host: int) -> None:
        self._store, self._rows_a_host = store, rows_a_host
        self.urls = self.pages = 0

    def fill(self, hosts: Iterable[tuple[int, int]], first_offset: int) -> int:
        """Hosts with their URLs; `seen` gets the rows that come first of each. Returns the next offset."""
        offset = first_offset
        writes = self._writes(hosts, offset)
        while some := list(islice(writes, ROWS_TOGETHER)):
            self._store.write(some)
            offset = some[-1].offset + 1
        return offset

    def _writes(self, hosts: Iterable[tuple[int, int]], offset: int) -> Iterator[Write]:
        for rank, count in hosts:
            key, number, left = host_name(rank), 0, self._rows_a_host
            yield Write("hosts", host_key(key), host_row(), offset)
            yield Write("hosts", robots_key(key, f"https://www.{key}"), robots_row(), offset)
            while number < count:
                size = min(MERGED if count - number >= MERGED else FOUND, count - number)
                numbers = range(number, number + size)
                value = pack(Page(offset, [fingerprint(rank, each) for each in numbers]))
                yield Write("backlog", page_key(RUN, key, 50, offset), value, offset)
                for each in numbers[:left]:
                    yield Write("seen", seen_key(RUN, fingerprint(rank, each)), seen_row(rank, each, offset), offset)
                left = max(0, left - size)
                number, offset = number + size, offset + 1
                self.pages += 1
            self.urls += count


class Sites:
    """Takes what the scheduler sends, and answers when the time has come; judges politeness as the sites see it."""

    def __init__(self, found: "array[int]", partitions: int, delay_ms: int) -> None:
        self._found, self._partitions, self._delay_ms = found, partitions, delay_ms
        self._coming: list[tuple[int, int, int, FetchRequest]] = []
        self._number = 0
        self._answered_ms = array("q", bytes(8 * len(found)))
        self.asked = array("L", bytes(8 * len(found)))
        """Requests by host."""
        self.sent = self.pages = 0
        self.rude = 0
        """Requests before the host's delay was over."""
        self.late_ms: list[int] = []
        """By how much more than its delay each host has rested, of some."""
        self.told: list[ToPartition] = []
        self.now_ms = 0

    def dispatch(self, dispatched: Dispatched) -> None:
        """As an outbox does."""
        self.told += dispatched.facts
        for request in dispatched.requests:
            self._take(request)

    def _take(self, request: FetchRequest) -> None:
        rank = rank_of(request.key)
        before_ms = self._answered_ms[rank]
        if before_ms:
            over_ms = self.now_ms - before_ms - self._delay_ms
            self.rude += over_ms < 0
            if self.sent % 64 == 0:
                self.late_ms.append(over_ms)
        self.asked[rank] += 1
        self.sent += 1
        self._push(self.now_ms + LATENCY_MS + rank % 100, 0, request)

    def _push(self, at_ms: int, stage: int, request: FetchRequest) -> None:
        self._number += 1
        heappush(self._coming, (at_ms, self._number, stage, request))

    def facts(self, now_ms: int) -> dict[int, list[Fact]]:
        """What fetchers and parsers have to tell by then, by partition."""
        self.now_ms, found = now_ms, dict[int, list[Fact]]()
        for number, fact in self.told:
            found.setdefault(number, []).append(fact)
        self.told.clear()
        while self._coming and self._coming[0][0] <= now_ms:
            at_ms, _, stage, request = heappop(self._coming)
            facts = found.setdefault(partition_of(request.key, self._partitions), [])
            facts += self._parsed(request, at_ms) if stage else self._fetched(request, now_ms)
        return found

    def _fetched(self, request: FetchRequest, at_ms: int) -> list[Fact]:
        rank = rank_of(request.key)
        self._answered_ms[rank] = at_ms
        self._push(at_ms + PARSING_MS, 1, request)
        return [
            Fetched(
                job=JOB, fp=request.fp, key=request.key, attempt=request.attempt, status=_status(rank, request),
                duration_ms=LATENCY_MS, sent_at_ms=request.sent_at_ms, at_ms=at_ms,
            )
        ]  # fmt: skip

    def _parsed(self, request: FetchRequest, at_ms: int) -> list[Fact]:
        """The outcome, and one new URL of the host."""
        rank, fp, key = rank_of(request.key), request.fp, request.key
        if _status(rank, request) != 200:
            failed = Parsed(
                job=JOB, fp=fp, key=key, outcome="failed", attempt=request.attempt, reason="http_429", status=429,
                retry_in_ms=30_000, at_ms=at_ms,
            )  # fmt: skip
            return [failed]
        self.pages += 1
        number = self._found[rank]
        self._found[rank] += 1
        outcome = Parsed(
            job=JOB, fp=fp, key=key, outcome="fetched", attempt=request.attempt, status=200, kept=True, items=10,
            content=fp[-12:], at_ms=at_ms,
        )  # fmt: skip
        url, via = url_of(rank, number), request.url
        return [outcome, Discovered(job=JOB, url=url, fp=fingerprint(rank, number), key=key, depth=4, via=via)]


def _status(rank: int, request: FetchRequest) -> int:
    throttles = rank % THROTTLED == THROTTLED - 1 and request.attempt == 0 and int(request.fp[-4:], 16) % 2
    return 429 if throttles else 200


class Stopwatch:
    """CPU seconds of this thread, by what they went into."""

    def __init__(self) -> None:
        self.spent = defaultdict[str, float](float)
        self.longest = defaultdict[str, float](float)

    def add(self, name: str, began: float) -> None:
        """Since `began`, as `time.thread_time` had it."""
        took = time.thread_time() - began
        self.spent[name] += took
        self.longest[name] = max(self.longest[name], took)


class Collector:
    """The garbage collector as the services set it, and how long it holds everything up."""

    def __init__(self) -> None:
        calm_collector()
        self._began = 0.0
        self.full = 0
        self.longest_ms = 0.0
        gc.callbacks.append(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._began = time.thread_time()
            return
        self.full += 1
        self.longest_ms = max(self.longest_ms, round((time.thread_time() - self._began) * 1000, 1))
