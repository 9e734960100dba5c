"""A partition with its tables in memory and a clock that only tests move."""

from collections.abc import Iterable, Iterator
from typing import Any

from odradek.contracts import Batch, Discovered, Fact, Fetched, FetchRequest, JobChanged, Parsed, RobotsFetched
from odradek_scheduler.core.keys import ledger_key, run_id, seen_key, split_page_key
from odradek_scheduler.core.partition import Dispatched, Limits, Partition
from odradek_scheduler.core.state import Ledger, Seen, unpack
from odradek_scheduler.core.tables import TABLE_NAMES, TableName, Write

NOW_MS = 1_700_000_000_000


class MemoryTables:
    def __init__(self) -> None:
        self.values: dict[TableName, dict[bytes, bytes]] = {name: {} for name in TABLE_NAMES}

    def get(self, table: TableName, key: bytes) -> bytes | None:
        return self.values[table].get(key)

    def scan(self, table: TableName, prefix: bytes, first: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        values = self.values[table]
        return iter([(key, values[key]) for key in sorted(values) if key.startswith(prefix) and key >= first])

    def write(self, writes: Iterable[Write]) -> None:
        for table, key, value, _ in writes:
            if value is None:
                self.values[table].pop(key, None)
            else:
                self.values[table][key] = value


class Crawl:
    """One partition of one: facts go in, requests come out. What it tells itself is folded at once."""

    def __init__(self, *, release: bool = True, tables: MemoryTables | None = None, **limits: Any) -> None:
        self.tables = tables or MemoryTables()
        self.limits = Limits(**limits)
        self.now_ms = NOW_MS
        self.offset = 0
        self.events: list[Any] = []
        self.core = Partition(0, 1, self.tables, self.limits)
        self.core.load()
        if release:
            self.core.release(self.now_ms)

    def restart(self) -> None:
        """A new owner with the same tables."""
        self.core = Partition(0, 1, self.tables, self.limits)
        self.core.load()
        self.core.resume_at(self.offset)
        self.core.release(self.now_ms)

    def fold(self, *facts: Fact) -> tuple[Write, ...]:
        writes = self.core.fold(Batch(facts=facts), self.offset)
        self.offset += 1
        self.tables.write(writes)
        told, self.core.told = self.core.told, []
        if told:
            self.fold(*(fact for _, fact in told))
        return writes

    def dispatch(self, credit: int = 1000) -> list[FetchRequest]:
        """What is sent now, facts to the own log included."""
        requests: list[FetchRequest] = []
        for _ in range(20):
            sent: Dispatched = self.core.dispatch(self.now_ms, credit - len(requests))
            requests += sent.requests
            self.events += sent.events
            if sent.facts:
                self.fold(*(fact for _, fact in sent.facts))
            elif not sent.requests:
                return requests
        return requests

    def sends(self, credit: int = 1000) -> list[str]:
        """The last words of the URLs that are sent now."""
        return [request.url.rsplit("/", 1)[1] for request in self.dispatch(credit)]

    def after(self, **span: float) -> "Crawl":
        self.now_ms += round(span.get("s", 0) * 1000 + span.get("ms", 0))
        return self

    def answer(self, request: FetchRequest, status: int | None = 200, **more: Any) -> None:
        self.fold(
            Fetched(
                job=request.job, fp=request.fp, key=request.key, run=request.run, attempt=request.attempt,
                kind=request.kind, status=status, sent_at_ms=request.sent_at_ms, at_ms=self.now_ms, **more,
            )
        )  # fmt: skip

    def end(self, request: FetchRequest, **more: Any) -> None:
        """The outcome of a request; by default a page kept."""
        fields: dict[str, Any] = {"outcome": "fetched", "kept": "outcome" not in more, "status": 200} | more
        self.fold(
            Parsed(
                job=request.job, fp=request.fp, key=request.key, run=request.ledger_run, attempt=request.attempt,
                at_ms=self.now_ms, **fields,
            )
        )  # fmt: skip

    def finish(self, request: FetchRequest, **more: Any) -> None:
        self.answer(request)
        self.end(request, **more)

    def robots(self, text: str | None, status: int | None = 200, host: str = "a.example", **more: Any) -> None:
        self.fold(
            RobotsFetched(
                key=host, origin=f"https://{host}", status=status, text=text, at_ms=self.now_ms, **more
            )
        )  # fmt: skip

    def ledger(self, job: str = "j", run: int = 1) -> Ledger:
        value = self.tables.get("ledger", ledger_key(run_id(job, run)))
        return Ledger() if value is None else unpack(Ledger, value)

    def seen(self, fp: str, job: str = "j", run: int = 1) -> Seen:
        value = self.tables.get("seen", seen_key(run_id(job, run), fp))
        assert value is not None
        return unpack(Seen, value)

    def kinds(self, fp: str) -> list[str]:
        """The transitions of a URL in words."""
        return [step.kind for step in self.seen(fp).steps]

    def pages(self) -> list[tuple[str, int, int]]:
        """Host, priority and offset of the backlog pages."""
        return [split_page_key(key)[1:] for key in sorted(self.tables.values["backlog"])]


def a_job(job: str = "j", *, version: int = 1, wanted: Any = "running", epoch: int = 1, **spec: Any) -> JobChanged:
    """A job that does not ask for robots.txt and waits for nothing, unless it says so."""
    politeness = {"respect_robots": False, "delay": 0.0, "concurrency_per_host": 100} | spec.pop("politeness", {})
    return JobChanged(
        job=job, version=version, epoch=epoch, wanted=wanted, spec={"politeness": politeness, **spec}, at_ms=NOW_MS
    )


def a_link(name: str, host: str = "a.example", job: str = "j", **more: Any) -> Discovered:
    """A link to a page of that name; the name is its fingerprint too."""
    return Discovered(job=job, url=f"https://{host}/{name}", fp=name, key=host, **more)
