from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from odradek.contracts import Batch, Discovered, decode
from odradek.kafka.packing import MAX_BATCH_BYTES, MAX_FACTS, pack
from odradek.kafka.records import ToFrontier
from odradek.testing.records import a_discovered
from odradek.topics import FRONTIER
from odradek.urls import partition_of

PARTITIONS = 5


def facts(keys: list[str], url_length: int = 30) -> list[ToFrontier]:
    return [
        ToFrontier(key, a_discovered(key=key, url="u" * url_length, fp=f"{number:032x}"))
        for number, key in enumerate(keys)
    ]


@given(st.lists(st.sampled_from("abcdefghij"), max_size=40))
def test_every_fact_goes_to_the_partition_of_its_key_in_its_order(keys: list[str]) -> None:
    expected: dict[int, list[Discovered]] = defaultdict(list)
    for each in facts(keys):
        expected[partition_of(each.key, PARTITIONS)].append(each.fact)
    actual: dict[int | None, list[object]] = defaultdict(list)
    for send in pack(facts(keys), PARTITIONS):
        assert send.topic == FRONTIER
        actual[send.partition] += decode(Batch, send.value or b"").facts
    assert actual == expected


def test_a_batch_is_bounded_in_facts() -> None:
    sends = pack(facts(["a"] * (2 * MAX_FACTS + 1)), PARTITIONS)
    assert [len(decode(Batch, send.value or b"").facts) for send in sends] == [MAX_FACTS, MAX_FACTS, 1]


def test_a_batch_is_bounded_in_bytes() -> None:
    sends = pack(facts(["a"] * 400, url_length=2000), PARTITIONS)
    assert all(len(send.value or b"") <= MAX_BATCH_BYTES for send in sends)
    numbers = [int(fact.fp, 16) for send in sends for fact in decode(Batch, send.value or b"").facts]  # type: ignore[union-attr]
    assert numbers == list(range(400))


def test_one_fact_too_large_for_the_bound_travels_alone() -> None:
    sends = pack(facts(["a"] * 3, url_length=MAX_BATCH_BYTES + 1), PARTITIONS)
    assert [len(decode(Batch, send.value or b"").facts) for send in sends] == [1, 1, 1]
