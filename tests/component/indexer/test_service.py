"""The indexer's three consumers in one process, on a broker in this process: stores that fail do so alone."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from tests.component.indexer.fakes import JOB, MemoryCollection, MemorySearch, SlowCollection, an_event, an_item

from odradek.contracts import JobRecord, encode
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.topics import DEAD_LETTERS, GROUPS, ITEMS, JOBS, LOGS, TOPICS
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


def prepare(settings: Settings) -> None:
    """The topics must be there before a consumer asks for them; the job is known."""
    put(settings, Send(JOBS, JOB, encode(JobRecord(job=JOB, spec={}))))
    for topic in TOPICS:
        if topic != JOBS:
            everything_in(settings, topic)
