"""Bulk requests: untouched lines in, a fate for each out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_indexer.core.bulk import Refusal, bulk_lines, bulks, conflicts, refusals
from odradek_indexer.core.cap import MOST_AT_ONCE, EventCap
from odradek_indexer.core.refusals import Fate, fate_in_documents, fate_in_search

EVENT = b'{"@timestamp":"2026-11-30T00:00:00.000Z","event":{"id":"e1"},"new":{"field":1}}'


def test_an_event_travels_untouched_below_its_id() -> None:
    assert bulk_lines(EVENT) == b'{"create":{"_id":"e1"}}\n' + EVENT + b"\n"


def test_an_id_cannot_break_out_of_its_line() -> None:
    event = msgspec.json.encode({"@timestamp": "now", "event": {"id": 'a"}}\n{"delete":{}}'}})

    head, body, rest = bulk_lines(event).split(b"\n")

    assert msgspec.json.decode(head) == {"create": {"_id": 'a"}}\n{"delete":{}}'}}
    assert (body, rest) == (event, b"")


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"{}",
        b"\xff",
        EVENT[:-1] + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"@timestamp":1,"event":{"id":"e1"}}',
        b'{"event":{"id":"e1"}}',
    ],
)
def test_what_is_no_event_is_refused(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        bulk_lines(value)


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=30), st.integers(1, 60))
def test_requests_keep_order_and_size(lines: list[bytes], most: int) -> None:
    parts = list(bulks(lines, most))

    assert [line for part in parts for line in part] == lines
    assert all(part and (len(part) == 1 or sum(map(len, part)) <= most) for part in parts)


def test_an_answer_tells_what_was_refused_and_what_was_there() -> None:
    answer = {
        "errors": True,
        "items": [
            {"create": {"status": 201}},
            {"create": {"status": 409, "error": {"type": "conflict"}}},
            {"create": {"status": 429, "error": {"type": "rejected", "reason": "queue is full"}}},
            {"create": {"status": 400, "error": "not a date"}},
        ],
    }

    assert refusals(answer) == [
        Refusal(2, Fate.again, "rejected: queue is full"),
        Refusal(3, Fate.hopeless, "not a date"),
    ]
    assert conflicts(answer) == 1


@pytest.mark.parametrize(
    ("code", "fate"),
    [(11000, Fate.there), (112, Fate.again), (10107, Fate.again), (13, Fate.again), (121, Fate.hopeless),
     (10334, Fate.hopeless), (0, Fate.hopeless)],
)  # fmt: skip
def test_mongodb_says_of_a_document(code: int, fate: Fate) -> None:
    assert fate_in_documents(code) is fate


@pytest.mark.parametrize(
    ("status", "fate"),
    [(201, Fate.stored), (409, Fate.there), (429, Fate.again), (503, Fate.again), (401, Fate.again),
     (404, Fate.again), (400, Fate.hopeless), (413, Fate.hopeless)],
)  # fmt: skip
def test_elasticsearch_says_of_an_event(status: int, fate: Fate) -> None:
    assert fate_in_search(status) is fate


def test_the_count_is_looked_at_first_and_then_when_the_cap_may_be_reached() -> None:
    cap = EventCap(2000)

    assert cap.due(1)
    assert cap.excess(500) == 0
    cap.left(500)
    assert [cap.due(1000), cap.due(499), cap.due(1)] == [False, False, True]


def test_at_the_cap_a_fifth_goes_and_the_next_look_is_when_it_has_come_again() -> None:
    cap = EventCap(50_000)

    assert (cap.excess(49_999), cap.excess(50_000), cap.excess(52_000)) == (0, 10_000, MOST_AT_ONCE)
    cap.left(42_000)
    assert [cap.due(7_999), cap.due(1)] == [False, True]


def test_as_long_as_nothing_was_deleted_each_batch_looks_again() -> None:
    cap = EventCap(2000)
    cap.left(1990)

    assert [cap.due(13), cap.due(1)] == [True, True]
    cap.left(2000 + MOST_AT_ONCE)
    assert cap.due(0)


def test_without_a_cap_nothing_is_ever_due() -> None:
    assert not EventCap(0).due(1_000_000)
