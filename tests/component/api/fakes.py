"""The world of the gateway, in memory: a log that keeps what was sent, views that read it, and stores."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx
import msgspec

from odradek.contracts import Batch, Fact, HostReport, JobRecord, Progress, Question, Reached, Reparse, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.packing import pack
from odradek.kafka.records import Send, ToFrontier
from odradek.settings import Settings
from odradek.stores import ALL_ITEMS, Document, ItemFilter
from odradek.topics import FRONTIER, JOBS
from odradek_api.app import create_app
from odradek_api.core.problems import Problem
from odradek_api.gateway import Gateway
from odradek_api.hosts import Hosts
from odradek_api.inquiring import Inquiry
from odradek_api.notifying import Deliveries
from odradek_api.paces import Paces
from odradek_api.parts import Parts
from odradek_api.purging import Purge
from odradek_api.reparsing import Reparsing
from odradek_api.replaying import Replay
from odradek_api.tracing import TracedLog

PARTITIONS = 3
M = TypeVar("M")


class FakeView(Generic[M]):
    """Holds what it is given; may lag behind."""

    def __init__(self) -> None:
        self.values: dict[str, M] = {}

    def get(self, key: str) -> M | None:
        return self.values.get(key)

    def items(self) -> Sequence[tuple[str, M]]:
        return list(self.values.items())


class FakeLog:
    """Takes everything, in order; a view of `jobs` follows it. `away_after`: so many sends are taken, then none."""

    def __init__(self, jobs: FakeView[JobRecord]) -> None:
        self.sent: list[Send] = []
        self.away_after: int | None = None
        self._jobs = jobs

    def partitions(self, topic: str) -> int:
        return 1 if topic == JOBS else PARTITIONS

    async def send(self, sends: Iterable[Send] = (), facts: Sequence[ToFrontier] = ()) -> None:
        await asyncio.sleep(0)
        for send in [*sends, *pack(facts, PARTITIONS)]:
            if self.away_after is not None and len(self.sent) >= self.away_after:
                raise InfrastructureAway("no broker")
            self.sent.append(send)
            if send.topic == JOBS:
                self._follow(send)

    def _follow(self, send: Send) -> None:
        if send.value is None:
            self._jobs.values.pop(send.key, None)
        else:
            self._jobs.values[send.key] = decode(JobRecord, send.value)

    def records(self) -> list[JobRecord]:
        return [decode(JobRecord, send.value) for send in self.sent if send.topic == JOBS and send.value is not None]

    def facts(self, kind: type[Fact] | None = None) -> list[tuple[int | None, Fact]]:
        """Partition and fact, in the order sent."""
        return [
            (send.partition, fact)
            for send in self.sent
            if send.topic == FRONTIER
            for fact in decode(Batch, send.value or b"").facts
            if kind is None or isinstance(fact, kind)
        ]

    def story(self) -> list[str]:
        """What was sent, a word for each message."""
        words = []
        for send in self.sent:
            if send.topic == FRONTIER:
                facts = decode(Batch, send.value or b"").facts
                words.append(f"{type(facts[0]).__name__}@{send.partition}")
            elif send.topic == JOBS and send.value is not None:
                record = decode(JobRecord, send.value)
                words.append("record seeding" if record.seeding else "record")
            else:
                words.append(send.topic)
        return words


class FakeStore:
    """Items, events and dead letters in memory, by the laws of the real reader."""

    def __init__(self) -> None:
        self.items: dict[str, Document] = {}
        self.logs: list[Document] = []
        self.dead: dict[str, Document] = {}
        self.asked: list[Document] = []
        self.answers: Callable[[Document], Document] = lambda body: {"hits": {"hits": []}}
        self.away = False

    def items_after(self, job: str, after: str | None, limit: int, wanted: ItemFilter = ALL_ITEMS) -> list[Document]:
        self._answer()
        found = [
            item
            for name, item in sorted(self.items.items())
            if item["job_id"] == job
            and (after is None or name > after)
            and wanted.type in (None, item["type"])
            and wanted.run in (None, item["run"])
        ]
        return found[:limit]

    def export_lines(self, job: str, wanted: ItemFilter = ALL_ITEMS) -> Iterator[bytes]:
        for item in self.items_after(job, None, 1_000_000, wanted):
            yield msgspec.json.encode(item) + b"\n"

    def count_items(self, job: str, wanted: ItemFilter = ALL_ITEMS) -> int:
        return len(self.items_after(job, None, 1_000_000, wanted))

    def forget_job(self, job: str) -> int:
        self._answer()
        mine = [name for name, item in self.items.items() if item["job_id"] == job]
        for name in mine:
            del self.items[name]
        return len(mine)

    def events(self, query: Document, limit: int, after: list[Any] | None = None) -> Document:
        self._answer()
        self.asked.append(query)
        start = 0 if after is None else int(after[0])
        page = self.logs[start : start + limit]
        more = [start + len(page), "id"] if len(page) == limit else None
        return {"total": len(self.logs), "data": page, "after": more}

    def search(self, body: Document) -> Document:
        self._answer()
        return self.answers(body)

    def facets(self, query: Document) -> Document:
        self._answer()
        self.asked.append(query)
        empty: Document = {name: [] for name in ("status", "host", "reason", "action", "time", "slowest_hosts")}
        return {"total": 1, "every_s": 60, "outcome": [{"value": "failed", "count": 1}]} | empty

    def letters(self, match: Document, limit: int) -> list[Document]:
        self._answer()
        return [letter for _, letter in sorted(self.dead.items()) if _matches(letter, match)][:limit]

    def freshness(self, job: str, within_s: float, now_ms: int) -> Document:
        ages_s = [now_ms / 1000 - each for each in (0,) if self.count_items(job)]
        return {"within_s": within_s, "items": self.count_items(job), "fresh": 0, "share": 0.0,
                "oldest_age_s": max(ages_s, default=None), "oldest": [], "hosts": []}  # fmt: skip

    def letter_reasons(self, match: Document) -> list[Document]:
        counts = Counter(letter["reason"] for letter in self.letters(match, 1_000_000))
        again = Counter(each["reason"] for each in self.letters(match, 1_000_000) if each.get("replayed_at"))
        return [{"reason": name, "count": number, "replayed": again[name]} for name, number in counts.most_common()]

    def mark_replayed(self, ids: Sequence[str], at_ms: int) -> None:
        for name in ids:
            self.dead[name]["replayed_at"] = at_ms

    def _answer(self) -> None:
        if self.away:
            raise Problem(503, "Store is away", "MongoDB does not answer: no server")


def _matches(document: Document, match: Document) -> bool:
    def holds(value: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict):
            return all(value > bound if op == "$gt" else value in bound for op, bound in wanted.items())
        return bool(value == wanted)

    return all(holds(document.get(name), wanted) for name, wanted in match.items())


class FakeOwners:
    """The partitions' owners; `bodies` answers a question, None stays silent."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Question]] = []
        self.bodies: Callable[[int, Question], Document | None] = lambda partition, question: None

    async def ask(self, questions: dict[int, Question], patience_s: float = 2.0) -> dict[int, Document]:
        self.asked += questions.items()
        answered = {partition: self.bodies(partition, question) for partition, question in questions.items()}
        return {partition: body for partition, body in answered.items() if body is not None}


@dataclass
class FakePipeline:
    """Fetchers, parsers, indexers: through or not."""

    through: bool = True

    async def drained(self, within_s: float) -> bool:
        return self.through


@dataclass
class FakePages:
    """The topic `pages` with three partitions, as many read again as is said, and the indexer through or not."""

    ends: int = 10
    unread: int = 0
    stored: bool = True

    def bounds(self) -> dict[int, tuple[int, int]]:
        return dict.fromkeys(range(3), (2, self.ends))

    def left(self, job: str, reparse: Reparse) -> int:
        return self.unread

    def item_ends(self) -> dict[int, int]:
        return {0: 5}

    def indexed(self, ends: Mapping[int, int]) -> bool:
        return self.stored


class FakeChanges:
    """The topic `changes` as one list; `at_ms` is when each was told."""

    def __init__(self) -> None:
        self.told: list[Document] = []
        self.away = False

    def after(self, job: str, since_ms: int | None, cursor: str | None, limit: int) -> Document:
        if self.away:
            raise InfrastructureAway("no broker")
        if cursor is not None and not (cursor.isascii() and cursor.isdecimal()):
            raise Problem(400, "No such cursor", "no")
        place, data = int(cursor or 0), list[Document]()
        while place < len(self.told) and len(data) < limit:
            change = self.told[place]
            place += 1
            data += [change] if change["job_id"] == job and change["at_ms"] >= (since_ms or 0) else []
        return {"data": data, "next_cursor": str(place), "at_end": place >= len(self.told), "lost": 0}


@dataclass
class World:
    """One gateway with everything it talks to."""

    environ: dict[str, str] = field(default_factory=dict)
    jobs: FakeView[JobRecord] = field(default_factory=FakeView)
    progress: FakeView[Progress | Reached] = field(default_factory=FakeView)
    reports: FakeView[HostReport] = field(default_factory=FakeView)
    store: FakeStore = field(default_factory=FakeStore)
    owners: FakeOwners = field(default_factory=FakeOwners)
    pipeline: FakePipeline = field(default_factory=FakePipeline)
    pages: FakePages = field(default_factory=FakePages)
    deliveries: Deliveries = field(default_factory=Deliveries)
    changes: FakeChanges = field(default_factory=FakeChanges)
    unready: str | None = None

    def __post_init__(self) -> None:
        self.settings = Settings.read(self.environ)
        self.log = FakeLog(self.jobs)
        self.gateway = self.another_gateway("first")

    def another_gateway(self, name: str = "second") -> Gateway:
        """It knows nothing but what Kafka holds."""
        return Gateway(self.settings, TracedLog(self.log), self.jobs, self.progress, name)

    def parts(self) -> Parts:
        return Parts(
            settings=self.settings,
            gateway=self.gateway,
            paces=Paces(),
            results=self.store,
            hosts=Hosts(self.log, self.reports),
            inquiry=Inquiry(self.settings, self.log, self.owners, patience_s=0.0),
            replay=Replay(self.settings, self.log, self.store),
            purge=Purge(self.gateway, self.store, self.pipeline, patience_s=0.0),
            reparsing=Reparsing(self.gateway, self.pages, settle_s=0.0),
            deliveries=self.deliveries,
            changes=self.changes,
            ready=lambda: self.unready,
        )

    @asynccontextmanager
    async def client(self, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
        """A client on loopback."""
        transport = httpx.ASGITransport(create_app(self.parts()), raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", headers=headers, trust_env=False
        ) as client:
            yield client


def an_item(job: str, number: int, **changes: Any) -> Document:
    """An item as the reader gives it."""
    item = {
        "_id": f"{job}:{number:04}",
        "type": "book",
        "url": f"https://books.example/{number}",
        "job_id": job,
        "run": 1,
        "first_seen": "2026-01-31T12:00:00.000Z",
        "last_seen": "2026-01-31T12:00:00.000Z",
        "meta": {},
        "data": {"title": f"Book {number}"},
    }
    return item | changes


def a_letter(**changes: Any) -> Document:
    """A dead letter of a request, as the indexer stores it."""
    letter = {
        "_id": "odradek.scheduled-1-7",
        "reason": "poison",
        "error": "ValueError",
        "service": "fetcher",
        "job_id": "j",
        "url": "https://books.example/",
        "at": None,
        "source": {"topic": "odradek.scheduled", "partition": 1, "offset": 7, "key": "fp"},
        "letter": {"partition": 0, "offset": 0},
        "value": b"\x00untouched",
        "size_bytes": 10,
    }
    return letter | changes
