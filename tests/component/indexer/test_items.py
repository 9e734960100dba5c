"""Items are stored exactly once, whatever is delivered how often and in which order."""

from typing import Any

import pytest
from bson.datetime_ms import DatetimeMS
from hypothesis import given
from hypothesis import strategies as st
from tests.component.indexer.fakes import JOB, NOW_MS, KnownJobs, MemoryCollection, an_item, records

from odradek.contracts import Item, ItemChanged, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done, Send
from odradek.topics import CHANGES
from odradek_indexer.consuming import ItemRecords, Result
from odradek_indexer.core.duplicates import candidates
from odradek_indexer.items import ItemStore, Offered
from odradek_indexer.knowing import KnownRules

DAY_MS = 86_400_000
SCHEDULED = {JOB: {"schedule": {"every": 3600}}}


def indexing(collection: MemoryCollection, jobs: KnownJobs | None = None) -> ItemRecords:
    store = ItemStore(collection)  # type: ignore[arg-type]  # a fake
    return ItemRecords(lambda _: store, KnownRules(jobs or KnownJobs(), patience_s=0.0))


def sends(results: list[Result]) -> list[Send]:
    return [send for result in results for stage in result.stages for send in stage.sends]


def changes(results: list[Result]) -> list[ItemChanged]:
    return [decode(ItemChanged, send.value or b"") for send in sends(results) if send.topic == CHANGES]


async def test_a_new_item_is_stored_with_all_that_is_known_of_it() -> None:
    collection = MemoryCollection()

    await indexing(collection)(records(an_item(meta={"shop": "north"}, run=3)))

    assert collection.documents == {
        "job-1:1": {
            "_id": "job-1:1",
            "type": "book",
            "url": "https://books.example/1.html",
            "job_id": JOB,
            "run": 3,
            "first_seen": DatetimeMS(NOW_MS),
            "last_seen": DatetimeMS(NOW_MS),
            "meta": {"shop": "north"},
            "data": {"title": "A title", "price": "19.90"},
            "content_hash": an_item().content_hash,
            "change": "new",
        }
    }


async def test_a_redelivered_item_changes_nothing() -> None:
    collection = MemoryCollection()
    index, delivered = indexing(collection), records(*(an_item(str(name)) for name in range(20)))
    await index(delivered)
    before, writes = dict(collection.documents), collection.writes

    again = await index(delivered)

    assert (collection.documents, collection.writes) == (before, writes)
    assert again == [Done(record) for record in delivered]


async def test_the_later_fetch_wins_and_the_first_sight_stays() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(an_item(data={"price": "1"})))

    await index(records(an_item(data={"price": "2"}, fetched_at_ms=NOW_MS + DAY_MS, run=2)))

    stored = collection.documents["job-1:1"]
    assert (stored["data"], stored["change"], stored["changed"]) == ({"price": "2"}, "changed", ["price"])
    assert (stored["first_seen"], stored["last_seen"]) == (DatetimeMS(NOW_MS), DatetimeMS(NOW_MS + DAY_MS))


async def test_the_redelivery_of_an_earlier_fetch_loses() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    earlier, later = an_item(data={"price": "1"}), an_item(data={"price": "2"}, fetched_at_ms=NOW_MS + 1)
    await index(records(earlier))
    await index(records(later))
    before = dict(collection.documents["job-1:1"])

    await index(records(earlier))

    assert collection.documents["job-1:1"] == before


@pytest.mark.parametrize("prices", [("1", "2"), ("2", "1")])
@pytest.mark.parametrize("turned", [False, True])
async def test_of_one_fetch_read_twice_the_later_rules_win_in_whatever_order_the_two_come(
    prices: tuple[str, str], *, turned: bool
) -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    both = [an_item(data={"price": price}, reparse=number) for number, price in enumerate(prices)]

    for item in reversed(both) if turned else both:
        await index(records(item))
    await index(records(*both))

    stored = collection.documents["job-1:1"]
    assert (stored["data"], stored["reparse"], stored["last_seen"]) == ({"price": prices[1]}, 1, DatetimeMS(NOW_MS))


async def test_an_unchanged_item_of_a_later_run_keeps_its_content_and_is_seen_again() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(an_item()))

    results = await index(records(an_item(run=2, fetched_at_ms=NOW_MS + DAY_MS)))

    stored = collection.documents["job-1:1"]
    assert (stored["change"], stored["run"], stored["last_seen"]) == ("unchanged", 2, DatetimeMS(NOW_MS + DAY_MS))
    assert changes(results) == []


async def test_two_pages_with_the_same_key_in_one_run_are_one_new_item() -> None:
    collection = MemoryCollection()
    index = indexing(collection, KnownJobs(**SCHEDULED))
    await index(records(an_item(data={"price": "1"})))

    results = await index(records(an_item(data={"price": "2"}, fetched_at_ms=NOW_MS + 1)))

    assert collection.documents["job-1:1"]["change"] == "new"
    assert [(each.change, each.fields) for each in changes(results)] == [("new", {"price": "2"})]


@pytest.mark.parametrize(("specs", "announced"), [(SCHEDULED, ["new"]), ({}, [])])
async def test_new_items_are_announced_only_where_runs_are_compared(specs: Any, announced: list[str]) -> None:
    results = await indexing(MemoryCollection(), KnownJobs(**specs))(records(an_item()))

    assert [each.change for each in changes(results)] == announced


async def test_a_change_is_announced_with_what_differs_and_again_after_a_crash() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(an_item(data={"price": "1", "note": "old", "title": "T"})))
    changed = records(an_item(data={"price": "2", "title": "T"}, fetched_at_ms=NOW_MS + DAY_MS, run=2))

    first = changes(await index(changed))
    again = changes(await index(changed))

    assert [(each.change, each.fields) for each in first] == [("changed", {"note": None, "price": "2"})]
    assert again == first


async def test_an_earlier_fetch_that_comes_late_is_not_announced() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    early, first, last = (
        an_item(data={"price": price}, fetched_at_ms=NOW_MS + later, run=run)
        for price, later, run in (("1", 0, 1), ("2", 1, 1), ("3", DAY_MS, 2))
    )
    await index(records(first))
    await index(records(last))

    assert changes(await index(records(early))) == []
    assert collection.documents["job-1:1"]["first_seen"] == DatetimeMS(NOW_MS)


async def test_a_store_that_is_away_finishes_no_record_and_then_all() -> None:
    collection = MemoryCollection()
    index, delivered = indexing(collection), records(an_item("1"), an_item("2"))
    collection.away = True
    with pytest.raises(InfrastructureAway, match="MongoDB does not answer"):
        await index(delivered)

    collection.away = False
    results = await index(delivered)

    assert results == [Done(record) for record in delivered]
    assert set(collection.documents) == {"job-1:1", "job-1:2"}


async def test_data_that_the_driver_takes_for_a_reference_is_compared_as_what_it_is() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    schema = {"$ref": "#/book", "$id": "b"}
    await index(records(an_item(data={"schema": schema, "price": "1"})))

    results = await index(records(an_item(data={"schema": schema, "price": "2"}, run=2, fetched_at_ms=NOW_MS + 1)))

    assert [each.fields for each in changes(results)] == [{"price": "2"}]


async def test_a_write_that_comes_between_reading_and_writing_is_judged_too() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(an_item(data={"price": "1"})))
    rival, ours = (
        an_item(data={"price": price}, fetched_at_ms=NOW_MS + later) for price, later in (("3", 3), ("2", 2))
    )

    def rival_writes() -> None:
        ItemStore(collection).store({rival.id: Offered(candidates([rival])[rival.id], rival.data)})  # type: ignore[arg-type]  # a fake

    collection.after_read = rival_writes
    await index(records(ours))

    assert collection.documents["job-1:1"]["data"] == {"price": "3"}


@pytest.mark.parametrize("moment", ["before_read", "after_read"])
async def test_an_item_purged_while_it_is_compared_is_stored_again(moment: str) -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(an_item("1"), an_item("2")))

    def purge() -> None:
        collection.documents.clear()

    later = records(an_item("1", fetched_at_ms=NOW_MS + 1), an_item("2", fetched_at_ms=NOW_MS + 1))
    setattr(collection, moment, purge)
    await index(later)

    assert {name: document["last_seen"] for name, document in collection.documents.items()} == {
        "job-1:1": DatetimeMS(NOW_MS + 1),
        "job-1:2": DatetimeMS(NOW_MS + 1),
    }


async def test_fifty_thousand_items_twice_are_fifty_thousand_documents() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    for _ in range(2):
        for start in range(0, 50_000, 500):
            await index(records(*(an_item(str(name)) for name in range(start, start + 500))))

    assert len(collection.documents) == collection.writes == 50_000


FETCHES = st.builds(
    lambda later, price: an_item(
        data={"price": price}, fetched_at_ms=NOW_MS + later, run=1 + later // 3, url=f"https://books.example/{later}"
    ),
    st.integers(0, 8),
    st.sampled_from(["1", "2", "3"]),
)


@given(st.lists(FETCHES, min_size=1, max_size=6), st.data())
async def test_the_same_fetches_in_any_order_batched_and_repeated_at_will_end_the_same(
    fetches: list[Item], draw: st.DataObject
) -> None:
    """`change` and `was` tell what arrived after what, so they are left out."""
    delivered = draw.draw(st.permutations(fetches + draw.draw(st.lists(st.sampled_from(fetches), max_size=6))))
    collection, one_by_one = MemoryCollection(), MemoryCollection()
    cut = draw.draw(st.integers(0, len(delivered)))
    for batch in (delivered[:cut], delivered[cut:]):
        await indexing(collection)(records(*batch))
    for item in sorted(fetches, key=lambda item: (item.fetched_at_ms, item.content_hash)):
        await indexing(one_by_one)(records(item))

    def settled(documents: dict[str, dict[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in documents["job-1:1"].items() if name not in ("change", "changed", "was")}

    assert settled(collection.documents) == settled(one_by_one.documents)


async def test_only_the_last_change_of_a_batch_waits_for_the_journal() -> None:
    collection = MemoryCollection()
    index = indexing(collection)
    await index(records(*(an_item(str(number)) for number in range(3))))

    await index(records(*(an_item(str(number), fetched_at_ms=NOW_MS + DAY_MS) for number in range(3))))

    assert collection.journaled == [False, False, True]


async def test_however_many_are_there_already_few_are_asked_for_at_once() -> None:
    collection = MemoryCollection()
    items = [an_item(str(number)) for number in range(120)]
    await indexing(collection)(records(*items))

    await indexing(collection)(records(*items))

    assert (len(collection.documents), collection.questions) == (120, [50, 50, 20])
