"""Both stores killed and started again under load: nothing is lost, nothing is stored twice.

`STORE_KILLS` says how often (5 unless told), `STORE_RECORDS` how many items and how many events. Both are killed with
-9. The embedded search engine then forgets what it took since it last wrote to disk: the indexer sends it again.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.component.indexer.fakes import JOB, an_event, an_item
from tests.component.indexer.test_service import prepare, until
from tests.e2e.test_indexer_stores import Running

from odradek.contracts import encode
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.stores import DEAD_LETTERS as LETTERS
from odradek.stores import ITEMS as COLLECTION
from odradek.stores import connect_documents, connect_search, count_path, job_range, refresh_path
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.topics import DEAD_LETTERS, GROUPS, ITEMS, LOGS
from odradek_indexer.service import serve

KILLS = int(os.environ.get("STORE_KILLS", "5"))
RECORDS = int(os.environ.get("STORE_RECORDS", "10000"))
DEADLINE_S = 600

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(DEADLINE_S)]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, Running]]:
    running = {
        "mongodb": Running(mongodb_engine, tmp_path / "mongodb"),
        "search": Running(elasticsearch_engine, tmp_path / "search"),
    }
    yield running
    for each in running.values():
        each.kill()


async def test_stores_killed_under_load_hold_every_record_once(stores: dict[str, Running]) -> None:
    with MockBroker() as broker:
        settings = broker.settings(
            mongodb_url=stores["mongodb"].engine.address, elasticsearch_url=stores["search"].engine.address
        )
        prepare(settings)
        stop = asyncio.Event()
        begun, service = time.monotonic(), asyncio.create_task(serve(settings, stop))
        for kill in range(KILLS):
            await asyncio.to_thread(more, settings, kill)
            await until(lambda kill=kill: stored(settings) > kill * RECORDS // KILLS)  # type: ignore[misc]  # no types of defaults
            await asyncio.to_thread(restart, stores)
        for topic in (ITEMS, LOGS):
            await until(lambda topic=topic: committed(settings, GROUPS[topic], topic) == {0: RECORDS})  # type: ignore[misc]  # as above
        took_s = time.monotonic() - begun
        stop.set()
        await service
        items, ids, events = await asyncio.to_thread(found, settings)
        letters = await asyncio.to_thread(everything_in, settings, DEAD_LETTERS)

    print(f"{KILLS} kills of both stores, {RECORDS:,} items and {RECORDS:,} events in {took_s:.0f} s")  # noqa: T201  (a figure)
    assert (items, ids, events, letters) == (RECORDS, RECORDS, RECORDS, [])


def more(settings: Settings, kill: int) -> None:
    """The next share of the load."""
    part = range(kill * RECORDS // KILLS, (kill + 1) * RECORDS // KILLS)
    put(settings, *(Send(ITEMS, "k", encode(an_item(f"{number:06}"))) for number in part))
    put(settings, *(Send(LOGS, "k", encode(an_event(f"e{number}"))) for number in part))


def stored(settings: Settings) -> int:
    """Items that the indexer counts as stored."""
    return sum(committed(settings, GROUPS[ITEMS], ITEMS).values())


def restart(stores: dict[str, Running]) -> None:
    """Both away at once, and back."""
    for each in stores.values():
        each.kill()
    for each in stores.values():
        each.start()


def found(settings: Settings) -> tuple[int, int, int]:
    """Items, different identities among them, and events."""
    database, engine = connect_documents(settings), connect_search(settings)
    names = [document["_id"] for document in database[COLLECTION].find(job_range(JOB), {"_id": 1})]
    assert database[LETTERS].count_documents({}) == 0
    engine.call("POST", refresh_path())
    events = engine.call("GET", count_path())["count"]
    engine.close()
    database.client.close()
    return len(names), len(set(names)), events
