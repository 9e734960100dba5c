"""Items of pages that were asked for again and not read: they stand, are missing, gone, and come back."""

from typing import Any

from bson.datetime_ms import DatetimeMS
from tests.component.indexer.fakes import JOB, NOW_MS, KnownJobs, MemoryCollection, an_item
from tests.component.indexer.test_items import changes, indexing

from odradek.contracts import Item, ItemChanged, PageSeen, encode, page_seen_key
from odradek.kafka.records import Record

DAY_MS = 86_400_000
URL = "https://books.example/1.html"
DAILY = {JOB: {"schedule": {"every": 86_400, "gone_grace": 3_600}}}


def day(number: int) -> int:
    return NOW_MS + number * DAY_MS


def a_sighting(run: int, **changes: Any) -> PageSeen:
    return PageSeen(**({"job": JOB, "url": URL, "run": run, "at_ms": day(run - 1)} | changes))


class Shop:
    """Items of a recurring job, and what was told of them."""

    def __init__(self, jobs: dict[str, Any] | None = None) -> None:
        self.collection = MemoryCollection()
        self.index = indexing(self.collection, KnownJobs(**(jobs or DAILY)))

    async def hears(self, *values: Item | PageSeen) -> list[ItemChanged]:
        told = []
        for offset, value in enumerate(values):
            page = isinstance(value, PageSeen)
            key = page_seen_key(value.job, "f" * 32) if page else value.id
            told.append(Record("odradek.items", 0, offset, key.encode(), encode(value)))
        return changes(await self.index(told))

    def stored(self, name: str = "1") -> dict[str, Any]:
        return self.collection.documents[f"{JOB}:{name}"]


async def test_items_of_a_page_that_has_not_changed_were_there_when_it_was_seen() -> None:
    shop = Shop()
    await shop.hears(an_item(), an_item("2"), an_item("3", url="https://books.example/2.html"))

    assert await shop.hears(a_sighting(2)) == []

    seen = [(shop.stored(name)["last_seen"], shop.stored(name)["run"], shop.stored(name)["change"]) for name in "123"]
    assert seen == [(DatetimeMS(day(1)), 2, "unchanged")] * 2 + [(DatetimeMS(NOW_MS), 1, "new")]
    writes = shop.collection.writes
    await shop.hears(a_sighting(2))
    assert shop.collection.writes == writes


async def test_what_was_read_later_is_not_taken_back_by_an_older_sighting() -> None:
    shop = Shop()
    await shop.hears(an_item(run=3, fetched_at_ms=day(2)))
    await shop.hears(a_sighting(2), a_sighting(2, missing=True))
    assert (shop.stored()["last_seen"], shop.stored()["run"]) == (DatetimeMS(day(2)), 3)
    assert "missing" not in shop.stored()


async def test_items_are_gone_when_their_page_is_missing_in_two_runs() -> None:
    shop = Shop()
    await shop.hears(an_item(), an_item("2"))

    assert await shop.hears(a_sighting(2, missing=True)) == []
    assert shop.stored()["missing"] == {"run": 2, "since": DatetimeMS(day(1)), "times": 1}
    assert await shop.hears(a_sighting(2, missing=True)) == []
    told = await shop.hears(a_sighting(3, missing=True))

    assert [(each.id, each.change, each.run, each.fields, each.before) for each in told] == [
        (f"{JOB}:{name}", "gone", 3, {}, {"title": "A title", "price": "19.90"}) for name in "12"
    ]
    assert (shop.stored()["change"], shop.stored()["gone"], shop.stored()["last_seen"]) == (
        "gone", DatetimeMS(day(2)), DatetimeMS(NOW_MS),
    )  # fmt: skip


async def test_what_is_gone_is_told_again_after_a_crash_and_not_in_later_runs() -> None:
    shop = Shop()
    await shop.hears(an_item())
    await shop.hears(a_sighting(2, missing=True))
    told = await shop.hears(a_sighting(3, missing=True))
    assert await shop.hears(a_sighting(3, missing=True)) == told
    assert await shop.hears(a_sighting(4, missing=True)) == []


async def test_a_grace_that_has_not_passed_keeps_items() -> None:
    shop = Shop({JOB: {"schedule": {"every": 60, "gone_grace": 3 * 86_400}}})
    await shop.hears(an_item())
    told = [await shop.hears(a_sighting(run, missing=True)) for run in (2, 3, 4, 5)]
    assert [len(each) for each in told] == [0, 0, 0, 1]


async def test_one_run_with_the_page_begins_the_count_again() -> None:
    shop = Shop()
    await shop.hears(an_item())
    await shop.hears(a_sighting(2, missing=True))
    await shop.hears(a_sighting(3))
    assert "missing" not in shop.stored()
    assert await shop.hears(a_sighting(4, missing=True)) == []
    assert shop.stored()["missing"]["times"] == 1


async def gone(shop: Shop) -> None:
    await shop.hears(an_item())
    await shop.hears(a_sighting(2, missing=True))
    await shop.hears(a_sighting(3, missing=True))


async def test_an_item_that_comes_back_is_new_again_and_keeps_its_first_sight() -> None:
    shop = Shop()
    await gone(shop)
    back = an_item(run=4, fetched_at_ms=day(3), data={"title": "A title", "price": "9"})

    [told] = await shop.hears(back)

    assert (told.change, told.fields, told.before) == ("new", {"title": "A title", "price": "9"}, {})
    stored = shop.stored()
    assert (stored["change"], stored["first_seen"], "gone" in stored, "missing" in stored) == (
        "new", DatetimeMS(NOW_MS), False, False,
    )  # fmt: skip
    assert await shop.hears(back) == [told]


async def test_an_item_whose_page_comes_back_as_it_was_is_new_again() -> None:
    shop = Shop()
    await gone(shop)

    told = await shop.hears(a_sighting(4))

    assert [(each.change, each.run, each.fields) for each in told] == [
        ("new", 4, {"title": "A title", "price": "19.90"})
    ]
    assert ("gone" in shop.stored(), shop.stored()["run"]) == (False, 4)
    assert await shop.hears(a_sighting(4)) == told
    assert await shop.hears(a_sighting(5)) == []


async def test_a_change_tells_the_old_values_beside_the_new_also_after_a_crash() -> None:
    shop = Shop()
    await shop.hears(an_item(data={"title": "A", "price": "1", "old": 1}))
    later = an_item(run=2, fetched_at_ms=day(1), data={"title": "A", "price": "2", "fresh": True})
    [told] = await shop.hears(later)
    assert told.fields == {"price": "2", "old": None, "fresh": True}
    assert told.before == {"price": "1", "old": 1}
    assert await shop.hears(later) == [told]


async def test_items_of_jobs_without_a_schedule_name_no_page() -> None:
    shop = Shop({JOB: {}})
    await shop.hears(an_item())
    assert "page" not in shop.stored()
