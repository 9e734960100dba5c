"""Dead letters can be listed and replayed: stored once, untouched, and told as crawl events."""

from typing import Any

import pytest
from bson.datetime_ms import DatetimeMS
from tests.component.indexer.fakes import NOW_MS, MemoryCollection, an_item, records

from odradek.contracts import LogEvent, decode, encode
from odradek.kafka.deadletter import dead_letter
from odradek.kafka.records import Done, Poison, Record
from odradek.testing.records import a_page, a_page_record
from odradek.topics import LOGS
from odradek_indexer.consuming import LetterRecords
from odradek_indexer.deadletters import DeadLetterStore


def a_letter(source: Record, **changes: Any) -> Record:
    """The dead letter that a runner makes of a record, as it lies in the topic."""
    send = dead_letter(Poison(source, "poison", "what went wrong"), "parser", NOW_MS)
    headers = tuple((name, value) for name, value in send.headers if value is not None)
    fields: dict[str, Any] = {
        "topic": "odradek.dead-letters", "partition": 3, "offset": 7, "timestamp_ms": NOW_MS,
        "key": send.key.encode(), "value": send.value, "headers": headers,
    }  # fmt: skip
    return Record(**(fields | changes))


def storing(collection: MemoryCollection) -> LetterRecords:
    return LetterRecords(DeadLetterStore(collection))  # type: ignore[arg-type]  # a fake


async def test_a_dead_letter_is_stored_untouched_with_where_it_came_from() -> None:
    collection = MemoryCollection()
    source = records(b"\xff not json")[0]

    await storing(collection)([a_letter(source)])

    assert collection.documents == {
        "odradek.items-0-0": {
            "_id": "odradek.items-0-0",
            "reason": "poison",
            "error": "what went wrong",
            "service": "parser",
            "job_id": None,
            "url": None,
            "at": DatetimeMS(NOW_MS),
            "source": {"topic": "odradek.items", "partition": 0, "offset": 0, "key": "key"},
            "letter": {"partition": 3, "offset": 7},
            "value": b"\xff not json",
            "size_bytes": 10,
        }
    }


@pytest.mark.parametrize("number", ["²", "-5", "9" * 30, "9" * 5000, "x", "9" * 18])
async def test_a_dead_letter_whose_headers_are_no_numbers_holds_nothing_up(number: str) -> None:
    collection = MemoryCollection()
    headers = tuple((name, number.encode()) for name in ("at_ms", "source_partition", "source_offset"))
    letter = a_letter(records(b"x")[0], headers=headers, timestamp_ms=2**62)

    (result,) = await storing(collection)([letter])

    (send,) = result.stages[0].sends
    assert set(collection.documents) == {"odradek.items-0-0"}
    assert decode(LogEvent, send.value or b"").timestamp <= "9999-12-31T23:59:59.999Z"


async def test_a_dead_letter_that_is_nested_too_deeply_is_stored() -> None:
    collection = MemoryCollection()

    await storing(collection)([a_letter(records(b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}")[0])])

    assert collection.documents["odradek.items-0-0"]["job_id"] is None


async def test_the_same_dead_letter_is_stored_once() -> None:
    collection = MemoryCollection()
    letter = a_letter(records(encode(an_item()))[0])

    await storing(collection)([letter, letter])
    await storing(collection)([letter])

    assert collection.writes == 1


async def test_a_dead_page_is_found_by_its_job_and_url() -> None:
    collection = MemoryCollection()
    page = a_page()

    await storing(collection)([a_letter(a_page_record(b"<html>", page))])

    stored = next(iter(collection.documents.values()))
    assert (stored["job_id"], stored["url"]) == (page.request.job, page.request.url)
    assert (stored["value"], stored["page"]) == (b"<html>", encode(page))


async def test_every_dead_letter_is_a_crawl_event() -> None:
    results = await storing(MemoryCollection())([a_letter(records(encode(an_item()))[0])])

    (send,) = results[0].stages[0].sends
    event = decode(LogEvent, send.value or b"")
    assert send.topic == LOGS
    assert (event.event.action, event.event.reason, event.service.name) == ("dead_letter", "poison", "parser")
    assert (event.odradek.job_id, event.url.full) == ("job-1", "https://books.example/1.html")


async def test_an_event_that_could_not_be_stored_makes_no_further_event() -> None:
    letter = a_letter(records(b"{}", topic="odradek.logs")[0])

    assert await storing(MemoryCollection())([letter]) == [Done(letter)]


async def test_a_letter_that_mongodb_cannot_take_is_kept_without_its_value() -> None:
    collection = MemoryCollection()
    letters = [a_letter(records(b"x" * size)[0], offset=size, key=str(size).encode()) for size in (1, 17 * 1024 * 1024)]

    await storing(collection)(letters)

    small, large = collection.documents["1"], collection.documents["17825792"]
    assert (small["value"], small["size_bytes"]) == (b"x", 1)
    assert (large["value"], large["size_bytes"], large["letter"]["offset"]) == (None, 17825792, 17825792)


async def test_a_letter_that_is_refused_is_kept_without_its_value() -> None:
    collection = MemoryCollection()
    refused = a_letter(records(b"x")[0])

    def refuse_values(document: dict[str, Any]) -> int:
        return 0 if document["value"] is None else 121

    collection.refusal = refuse_values
    await storing(collection)([refused])

    stored = collection.documents["odradek.items-0-0"]
    assert (stored["value"], stored["stored_without_value"]) == (None, "code 121")


async def test_indexes_for_listing_are_made_once() -> None:
    collection = MemoryCollection()
    store = storing(collection)
    await store([a_letter(records(b"x")[0])])
    await store([a_letter(records(b"x")[0])])

    assert [index.document["name"] for index in collection.indexes] == ["reason_1__id_1", "job_id_1__id_1"]
