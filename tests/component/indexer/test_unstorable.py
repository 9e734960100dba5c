"""What MongoDB can never take is a dead letter, and holds back nothing of what it can."""

from typing import Any

import pytest
from tests.component.indexer.fakes import MemoryCollection, an_item, records
from tests.component.indexer.test_items import indexing, sends

from odradek.contracts import encode
from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done, Poison
from odradek.nesting import MAX_DEPTH
from odradek.topics import DEAD_LETTERS


async def test_of_a_bulk_that_fails_in_part_the_good_are_stored_and_the_hopeless_are_dead_letters() -> None:
    collection = MemoryCollection()
    collection.refusing = {"job-1:2": 121}
    delivered = records(an_item("1"), an_item("2"), b"no json", an_item("3"))

    results = await indexing(collection)(delivered)

    assert set(collection.documents) == {"job-1:1", "job-1:3"}
    assert [type(result) for result in results] == [Done, Done, Poison, Done]
    letter = sends(results)[0]
    headers = dict(letter.headers)
    assert (letter.topic, letter.value) == (DEAD_LETTERS, delivered[1].value)
    assert (headers["reason"], headers["job"]) == (b"unstorable", b"job-1")


async def test_of_a_bulk_that_fails_in_part_what_passes_is_tried_again() -> None:
    collection = MemoryCollection()
    collection.refusing = {"job-1:2": 112}
    index, delivered = indexing(collection), records(an_item("1"), an_item("2"), an_item("3"))
    with pytest.raises(InfrastructureAway, match="refused 1 writes for now"):
        await index(delivered)
    assert set(collection.documents) == {"job-1:1", "job-1:3"}

    collection.refusing = {}

    assert await index(delivered) == [Done(record) for record in delivered]
    assert len(collection.documents) == collection.writes == 3


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 700, 5_000])
async def test_data_that_is_nested_too_deeply_is_poison_and_the_others_are_stored(levels: int) -> None:
    collection = MemoryCollection()
    deep = encode(an_item("2")).replace(b'"data":{', b'"data":{"deep":%b,' % nested(levels - 1))
    flat = encode(an_item("3")).replace(b'"data":{', b'"data":{"deep":%b,' % nested(MAX_DEPTH - 1))

    results = await indexing(collection)(records(an_item("1"), deep, flat, an_item("4")))

    assert [type(result) for result in results] == [Done, Poison, Done, Done]
    assert set(collection.documents) == {"job-1:1", "job-1:3", "job-1:4"}


@pytest.mark.parametrize("instant", [-1, 253_402_300_800_000, 2**62])
async def test_an_item_fetched_at_no_instant_is_poison(instant: int) -> None:
    collection = MemoryCollection()

    results = await indexing(collection)(records(an_item("1", fetched_at_ms=instant), an_item("2")))

    assert [type(result) for result in results] == [Poison, Done]
    assert set(collection.documents) == {"job-1:2"}


async def test_an_item_that_another_unique_index_refuses_is_a_dead_letter_and_holds_nothing_up() -> None:
    collection = MemoryCollection()
    collection.unique = "sku"
    items = [an_item(str(number), data={"sku": sku}) for number, sku in enumerate((1, 1, 2))]

    results = await indexing(collection)(records(*items))

    assert set(collection.documents) == {"job-1:0", "job-1:2"}
    assert [(send.topic, send.value) for send in sends(results)] == [(DEAD_LETTERS, encode(items[1]))]


@pytest.mark.parametrize("data", [{"a\0b": 1}, {"n": 2**70}], ids=["a NUL in a name", "an integer past 64 bits"])
async def test_one_item_that_the_driver_refuses_does_not_hold_back_the_others(data: dict[str, Any]) -> None:
    collection = MemoryCollection()
    items = [an_item(str(name)) for name in range(10)]
    items[6] = an_item("6", data=data)

    results = await indexing(collection)(records(*items))

    assert set(collection.documents) == {f"job-1:{name}" for name in range(10)} - {"job-1:6"}
    assert [(send.topic, send.value) for send in sends(results)] == [(DEAD_LETTERS, encode(items[6]))]


async def test_a_bulk_refused_as_a_whole_is_halved_until_it_passes() -> None:
    collection = MemoryCollection()
    collection.bulk_refusal = 10334

    await indexing(collection)(records(*(an_item(str(name)) for name in range(5))))

    assert len(collection.documents) == 5
