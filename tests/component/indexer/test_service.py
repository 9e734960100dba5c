"""The indexer's three consumers in one process, on a broker in this process: stores that fail do so alone."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from tests.component.indexer.fakes import JOB, MemoryCollection, MemorySearch, SlowCollection, an_event, an_item
from tests.component.indexer.pages import a_page, archived

from odradek.contracts import JobRecord, encode
from odradek.engines.engine import free_port
from odradek.kafka.intake import MOST as READ_AT_ONCE
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.topics import ARCHIVE_GROUP, DEAD_LETTERS, GROUPS, ITEMS, JOBS, LOGS, PAGES, TOPICS
from odradek_indexer import settings as own
from odradek_indexer.archiving import Archive
from odradek_indexer.core.cap import EventCap
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore
from odradek_indexer.logs import EventIndex
from odradek_indexer.service import Stores, index

WITHIN_S = 40.0


async def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def indexing(
    settings: Settings,
    items: MemoryCollection,
    search: MemorySearch,
    letters: MemoryCollection,
    archive_dir: Path = Path("/nowhere"),
) -> AsyncIterator[None]:
    """The service, told to stop when the block ends, and waited for."""
    stores = Stores(
        cache(lambda _: ItemStore(items)),  # type: ignore[arg-type]  # a fake
        EventIndex(search.engine, retention_days=30, cap=EventCap(0)),
        DeadLetterStore(letters),  # type: ignore[arg-type]  # a fake
        Archive(archive_dir),
    )
    stop = asyncio.Event()
    task = asyncio.create_task(index(settings, stop, stores))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, WITHIN_S)


async def test_items_events_and_dead_letters_reach_their_stores_and_are_committed() -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        put(settings, *(Send(ITEMS, "k", encode(an_item(str(name)))) for name in range(1200)))
        put(settings, *(Send(LOGS, "k", encode(an_event(f"e{name}"))) for name in range(1500)))
        put(settings, Send(ITEMS, "k", b"poison"))

        async with indexing(settings, items, search, letters):
            await until(lambda: len(items.documents) == 1200 and len(letters.documents) == 1)
            await until(lambda: len(search.events) == 1501)
            await until(lambda: committed(settings, GROUPS[ITEMS], ITEMS) == {0: 1201})
            await until(lambda: sum(committed(settings, GROUPS[LOGS], LOGS).values()) == 1501)

        assert next(iter(letters.documents.values()))["value"] == b"poison"
        assert [
            event["event"]["reason"] for event in search.events.values() if event["event"]["action"] != "fetch"
        ] == ["undecodable"]


async def test_while_a_store_is_away_nothing_is_committed_and_then_everything_is() -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    items.away = True
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        put(settings, *(Send(ITEMS, "k", encode(an_item(str(name)))) for name in range(100)))
        put(settings, *(Send(LOGS, "k", encode(an_event(f"e{name}"))) for name in range(100)))

        async with indexing(settings, items, search, letters):
            await until(lambda: len(search.events) == 100)
            await until(lambda: committed(settings, GROUPS[LOGS], LOGS) == {0: 100})
            assert committed(settings, GROUPS[ITEMS], ITEMS) == {}

            items.away = False
            await until(lambda: committed(settings, GROUPS[ITEMS], ITEMS) == {0: 100})

        assert len(items.documents) == items.writes == 100


async def test_a_store_that_is_away_is_seen_and_no_more_is_read_than_fits_the_window() -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    items.away = True
    port = free_port()
    with MockBroker() as broker:
        settings = broker.settings(metrics_port=str(port))
        prepare(settings)
        put(settings, *(Send(ITEMS, "k", encode(an_item(str(name)))) for name in range(6000)))

        async with indexing(settings, items, search, letters):
            await until(lambda: "items waits: MongoDB does not answer" in asked(port, "/health/ready"))
            await until(lambda: gauge(port, "odradek_records_in_hand") >= own.ITEMS.window.records)
            most = max([gauge(port, "odradek_records_in_hand") for _ in range(20)])
            seen = (gauge(port, "odradek_engine_away"), len(items.documents), committed(settings, GROUPS[ITEMS], ITEMS))

            items.away = False
            await until(lambda: len(items.documents) == 6000)
            await until(lambda: "items waits" not in asked(port, "/health/ready"))
            await until(lambda: gauge(port, "odradek_engine_away") == gauge(port, "odradek_records_in_hand") == 0)
            await until(lambda: committed(settings, GROUPS[ITEMS], ITEMS) == {0: 6000})

        assert most <= own.ITEMS.window.records + READ_AT_ONCE
        assert seen == (1.0, 0, {})
        assert items.writes == 6000


async def test_items_of_a_job_that_is_not_in_the_topic_are_kept_as_soon_as_it_is_read_to_its_end() -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        put(settings, *(Send(ITEMS, "k", encode(an_item(id=f"gone{n}:1", job=f"gone{n}"))) for n in range(20)))

        async with indexing(settings, items, search, letters):
            await until(lambda: len(items.documents) == 20)


async def test_a_slow_store_does_not_hold_back_the_other() -> None:
    items, search, letters = SlowCollection(), MemorySearch(), MemoryCollection()
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        put(settings, Send(ITEMS, "k", encode(an_item())))
        async with indexing(settings, items, search, letters):
            await until(items.asked.is_set)
            put(settings, *(Send(LOGS, "k", encode(an_event(f"e{name}"))) for name in range(3000)))

            await until(lambda: len(search.events) == 3000)

            assert items.documents == {}
            items.go.set()
        assert len(items.documents) == 1


async def test_what_a_stopped_indexer_has_not_committed_is_read_again_and_changes_nothing() -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        twice = [Send(ITEMS, "k", encode(an_item(str(name)))) for name in range(200)] * 2
        put(settings, *twice)

        async with indexing(settings, items, search, letters):
            await until(lambda: committed(settings, GROUPS[ITEMS], ITEMS) == {0: 400})

        assert len(items.documents) == items.writes == 200
        assert everything_in(settings, DEAD_LETTERS) == []


async def test_pages_are_archived_from_the_moment_when_a_job_wants_it(tmp_path: Path) -> None:
    items, search, letters = MemoryCollection(), MemorySearch(), MemoryCollection()
    with MockBroker() as broker:
        settings = broker.settings()
        prepare(settings)
        pages = [a_page(offset) for offset in range(30)]
        put(settings, *(Send(PAGES, "fp", page.value, page.headers) for page in pages))

        async with indexing(settings, items, search, letters, tmp_path):
            await until(lambda: committed(settings, ARCHIVE_GROUP, PAGES) == {})
            put(settings, Send(JOBS, JOB, encode(JobRecord(job=JOB, spec={"archive": {"warc": "books"}}))))
            await until(lambda: committed(settings, ARCHIVE_GROUP, PAGES) == {0: 30})

        urls = await asyncio.to_thread(lambda: [url for url, _, _ in archived(tmp_path / "books")])
        assert urls == [f"https://books.example/{offset}.html" for offset in range(30)]


def asked(port: int, path: str) -> str:
    """What the service says of itself; nothing before it does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except urllib.error.URLError:
        return ""


def gauge(port: int, name: str) -> float:
    """Of the consumer of items, as Prometheus sees it."""
    wanted = f'{name}{{service="indexer",topic="items"}} '
    return sum(
        float(line.removeprefix(wanted)) for line in asked(port, "/metrics").splitlines() if line.startswith(wanted)
    )


def prepare(settings: Settings) -> None:
    """The topics must be there before a consumer asks for them; the job is known."""
    put(settings, Send(JOBS, JOB, encode(JobRecord(job=JOB, spec={}))))
    for topic in TOPICS:
        if topic != JOBS:
            everything_in(settings, topic)
