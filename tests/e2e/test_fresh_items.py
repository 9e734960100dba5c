"""Pages seen again, gone and back, and the freshness of items, on the embedded document store itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.component.indexer.fakes import JOB, KnownJobs, an_item
from tests.component.indexer.test_items import changes
from tests.component.indexer.test_pages_seen import DAILY, DAY_MS, a_sighting, day
from tests.e2e.test_indexer_stores import Running

from odradek.contracts import Item, ItemChanged, JobRecord, PageSeen, encode, page_seen_key
from odradek.engines.stores import mongodb_engine
from odradek.kafka.records import Record
from odradek.settings import Settings
from odradek.stores import connect_documents
from odradek_api.reading import Reader
from odradek_indexer.consuming import ItemRecords
from odradek_indexer.items import ItemStore
from odradek_indexer.knowing import KnownRules

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    running = Running(mongodb_engine, tmp_path / "mongodb")
    found = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": running.engine.address}))
    yield found
    found.client.close()
    running.kill()


class KnownRecord:
    def get(self, key: str) -> JobRecord | None:
        return JobRecord(job=key, spec=DAILY[JOB])


async def test_the_embedded_store_keeps_what_is_seen_gone_and_fresh(database: Any) -> None:
    store = ItemStore(database["items"])
    index = ItemRecords(lambda _: store, KnownRules(KnownJobs(**DAILY), patience_s=0.0))

    async def hears(*values: Item | PageSeen) -> list[ItemChanged]:
        told = []
        for offset, value in enumerate(values):
            key = page_seen_key(value.job, "f" * 32) if isinstance(value, PageSeen) else value.id
            told.append(Record("odradek.items", 0, offset, key.encode(), encode(value)))
        return changes(await index(told))

    other = "https://other.example:8080/2.html"
    await hears(an_item("1"), an_item("2"), an_item("3", url=other))
    assert await hears(a_sighting(2), a_sighting(2, url=other, missing=True)) == []
    assert await hears(a_sighting(2), a_sighting(2, url=other, missing=True)) == []
    stored = {each["_id"]: each for each in database["items"].find({})}
    assert [stored[f"{JOB}:{name}"]["change"] for name in "123"] == ["unchanged", "unchanged", "new"]

    [gone] = await hears(a_sighting(3), a_sighting(3, url=other, missing=True))
    assert (gone.id, gone.change, gone.before) == (f"{JOB}:3", "gone", {"title": "A title", "price": "19.90"})
    assert await hears(a_sighting(3, url=other, missing=True)) == [gone]

    reader = Reader(database, None, KnownRecord())  # type: ignore[arg-type]  # no search engine is asked
    fresh = reader.freshness(JOB, DAY_MS / 1000 / 2, day(2) + 1_000)
    assert (fresh["items"], fresh["fresh"], fresh["share"], fresh["oldest_age_s"]) == (2, 2, 1.0, 1.0)

    [back] = await hears(a_sighting(4, url=other))
    assert (back.id, back.change) == (f"{JOB}:3", "new")
    fresh = reader.freshness(JOB, DAY_MS / 1000 / 2, day(3) + 1_000)
    assert [(each["host"], each["items"], each["fresh"]) for each in fresh["hosts"]] == [
        ("books.example", 2, 0), ("other.example:8080", 1, 1),
    ]  # fmt: skip
    assert [each["id"] for each in fresh["oldest"]] == [f"{JOB}:1", f"{JOB}:2", f"{JOB}:3"]
