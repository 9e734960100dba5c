"""The indexer's stores on the embedded engines themselves: exactly once through redelivery and kill -9."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bson.decimal128 import Decimal128
from tests.component.indexer.fakes import JOB, NOW_MS, KnownJobs, an_event, an_item, records
from xxhash import xxh3_128_hexdigest

from odradek.engines.engine import Engine
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done, Poison, Record
from odradek.settings import Settings
from odradek.stores import (
    ALL_ITEMS,
    DEAD_LETTERS,
    ITEMS,
    ItemFilter,
    connect_documents,
    connect_search,
    count_path,
    exported_line,
    job_range,
    refresh_path,
    search_path,
    way_through,
)
from odradek.stores.stretches import WHOLE, Stretches
from odradek_indexer.consuming import EventRecords, ItemRecords, LetterRecords
from odradek_indexer.core.cap import EventCap
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore
from odradek_indexer.knowing import KnownRules
from odradek_indexer.logs import EventIndex

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

DECIMAL_PRICE = {"extract": [{"type": "book", "fields": {"price": {"css": ".price", "type": "decimal"}}}]}
Handle = Callable[[Sequence[Record]], Any]


class Running:
    """An engine as a process that can be killed and started again on the same data."""

    def __init__(self, make: Callable[[Path], Engine], folder: Path) -> None:
        self._make, self._folder = make, folder
        self._folder.mkdir()
        self.start()

    def start(self) -> None:
        self.engine = self._make(self._folder)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.engine.command, env={**os.environ, **self.engine.env}, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 90
        while not self.engine.ready():
            assert time.monotonic() < deadline, "the engine does not answer"

    def kill(self, by: signal.Signals = signal.SIGKILL) -> None:
        self._process.send_signal(by)
        self._process.wait()


@pytest.fixture
def mongodb(tmp_path: Path) -> Iterator[Running]:
    running = Running(mongodb_engine, tmp_path / "mongodb")
    yield running
    running.kill()


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Running]:
    running = Running(elasticsearch_engine, tmp_path / "search")
    yield running
    running.kill()


async def insist(handle: Handle, batch: Sequence[Record]) -> Any:
    """Deliver until it is taken, as the runner does."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return await handle(batch)
        except InfrastructureAway:
            assert time.monotonic() < deadline, "the store did not come back"


async def test_items_twice_and_through_kill_9_are_stored_once(mongodb: Running) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    index = ItemRecords(lambda name: ItemStore(database[name]), KnownRules(KnownJobs(**{JOB: DECIMAL_PRICE})))
    batches = [
        records(*(an_item(f"{name:04d}") for name in range(start, start + 250))) for start in range(0, 2000, 250)
    ]
    for number, batch in enumerate([*batches, *batches[4:]]):
        await insist(index, batch)
        if number in (2, 9):
            mongodb.kill()
            with pytest.raises(InfrastructureAway):
                await index(batch)
            mongodb.start()

    stored = list(database[ITEMS].find(job_range(JOB)).sort("_id", 1))

    assert [document["_id"] for document in stored] == [f"{JOB}:{name:04d}" for name in range(2000)]
    assert stored[0]["data"]["price"] == Decimal128("19.90")
    assert exported_line(stored[0])["data"] == an_item().data
    (after,) = Stretches(JOB, after=f"{JOB}:1899", width=WHOLE)
    assert database[ITEMS].count_documents(after) == 100
    database.client.close()


async def test_an_engine_that_looks_through_everything_is_given_an_index_and_asked_a_stretch_at_a_time(
    mongodb: Running,
) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    items = database[ITEMS]
    names = sorted(f"{job}:{xxh3_128_hexdigest(f'{job}{n}'.encode())}" for job in ("a", "b", "c") for n in range(200))
    items.insert_many({"_id": name, "type": "abc"[n % 3], "run": 1} for n, name in enumerate(names))
    of_b = [name for name in names if name.startswith("b:")]

    def read(wanted: ItemFilter = ALL_ITEMS, **more: Any) -> list[str]:
        way = way_through(items, "b", wanted, **more)
        return [each["_id"] for match in way for each in items.find(match).sort("_id")]

    whole = read(many=600)
    assert list(items.index_information()) == ["_id_"]
    in_stretches = read(many=599)
    assert list(items.index_information()) == ["_id_", "by_id"]
    stretches = list(way_through(items, "b"))

    assert whole == in_stretches == of_b
    assert read(after=of_b[77]) == of_b[78:]
    assert read(ItemFilter(type="a")) == [name for n, name in enumerate(names) if n % 3 == 0 and name in of_b]
    assert len(stretches) > 1
    plans = [database.command("explain", {"find": ITEMS, "filter": match}) for match in stretches]
    assert [str(plan["queryPlanner"]["winningPlan"]).count("COLLSCAN") for plan in plans] == [0] * len(stretches)
    database.client.close()


async def test_an_index_of_which_only_a_part_was_made_is_made_again(mongodb: Running) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    items = database[ITEMS]
    items.insert_many({"_id": f"b:{n:032x}", "run": 1} for n in range(20))
    items.create_index([("run", 1)], name="by_id")  # nobody says that it is whole

    way_through(items, "b")
    again = items.index_information()["by_id"]
    way_through(items, "b")

    assert again["key"] == [("_id", 1), ("run", 1)]
    assert database["indexed"].find_one({}) == {"_id": ITEMS}
    database.client.close()


async def test_a_later_fetch_replaces_and_an_earlier_one_does_not(mongodb: Running) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    index = ItemRecords(lambda name: ItemStore(database[name]), KnownRules(KnownJobs()))
    later = an_item(data={"price": "2", "$ref": {"a.b": 1}}, fetched_at_ms=NOW_MS + 1, run=2)
    for item in (an_item(), later, an_item(), later):
        await index(records(item))

    (document,) = database[ITEMS].find({})

    assert exported_line(document) == {
        "_id": f"{JOB}:1",
        "type": "book",
        "url": "https://books.example/1.html",
        "job_id": JOB,
        "run": 2,
        "first_seen": "2026-09-21T14:13:20.000Z",
        "last_seen": "2026-09-21T14:13:20.001Z",
        "meta": {},
        "data": {"price": "2", "$ref": {"a.b": 1}},
    }
    assert document["changed"] == ["$ref", "price", "title"]
    database.client.close()


async def test_items_that_mongodb_cannot_take_are_dead_letters_and_the_others_stored(mongodb: Running) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    index = ItemRecords(lambda name: ItemStore(database[name]), KnownRules(KnownJobs()))
    unstorable = [an_item("huge", data={"text": "x" * 17_000_000}), an_item("nul", data={"a\0b": 1})]

    results = await index(records(an_item("1"), *unstorable, an_item("2")))

    assert [bool(result.stages) for result in results] == [False, True, True, False]
    assert {document["_id"] for document in database[ITEMS].find({})} == {f"{JOB}:1", f"{JOB}:2"}
    database.client.close()


async def test_dead_letters_are_stored_once_and_listed_by_reason(mongodb: Running) -> None:
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": mongodb.engine.address}))
    letters = [
        Record("odradek.dead-letters", 0, number, b"letter-%d" % number, b"\xff", ((("reason"), b"poison"),), NOW_MS)
        for number in range(20)
    ]
    store = LetterRecords(DeadLetterStore(database[DEAD_LETTERS]))

    await store(letters)
    await store(letters)

    assert database[DEAD_LETTERS].count_documents({"reason": "poison", "value": b"\xff"}) == 20
    database.client.close()


async def test_events_twice_are_one_each(search: Running) -> None:
    engine = connect_search(Settings.read({"ODRADEK_ELASTICSEARCH_URL": search.engine.address}))
    index = EventRecords(EventIndex(engine, retention_days=30, cap=EventCap(0)))
    batches = [records(*(an_event(f"e{name}") for name in range(start, start + 500))) for start in range(0, 2000, 500)]
    for batch in [*batches, *batches]:
        assert await insist(index, batch) == [Done(record) for record in batch]
    bad = records(b'{"@timestamp": "no date", "event": {"id": "bad"}}', an_event("good"))
    assert [type(result) for result in await index(bad)] == [Poison, Done]

    engine.call("POST", refresh_path())

    assert engine.call("GET", count_path())["count"] == 2001
    engine.close()


async def test_the_embedded_engine_keeps_the_newest_events_up_to_the_cap(search: Running) -> None:
    engine = connect_search(Settings.read({"ODRADEK_ELASTICSEARCH_URL": search.engine.address}))
    index = EventRecords(EventIndex(engine, retention_days=30, cap=EventCap(1000)))
    for start in range(0, 3000, 100):
        at = [f"2026-11-30T{name // 60:02d}:{name % 60:02d}:00.000Z" for name in range(start // 100, start // 100 + 1)]
        await index(records(*(an_event(f"e{name}", timestamp=at[0]) for name in range(start, start + 100))))

    engine.call("POST", refresh_path())

    left = engine.call("POST", search_path(), {"size": 1000, "sort": [{"event.id": "asc"}], "_source": ["event.id"]})
    assert [hit["_source"]["event"]["id"] for hit in left["hits"]["hits"]] == [f"e{name}" for name in range(2200, 3000)]
    engine.close()
