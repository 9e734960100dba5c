"""Pages in which everything lies inside everything else cost a bounded number of steps, and the page goes on."""

import gzip
import time
from typing import Any

import pytest
from tests.unit.parser.pages import a_page, a_reading, a_spec, extracted

from odradek_parser.core.parsing import MAX_PAGE_BYTES
from odradek_parser.core.rules import Rule
from odradek_parser.core.selectors import MOST_SIBLINGS, MOST_SIBLINGS_SLOW
from odradek_parser.core.soup import soup_of
from odradek_parser.core.trees import Exhausted, LexborTree

DEEP = "<span>x" * 1_500
MISPLACED = "<table><tr>" + "<select>x</select>y<b>" * 3_000
"""html5lib, a parser of pages by the same standard, takes minutes for it."""
FIELD = {"it": {"css": "span", "many": True}}
SLOW = "span:-soup-contains('x')"
HTML = {"it": {"css": "span", "many": True, "type": "html"}}


FEW = 20_000
"""Visits: what is spent without a limit grows with the square of the page, and the true limit takes seconds."""


@pytest.mark.parametrize("rule", [{"fields": FIELD}, {"fields": HTML}, {"each": SLOW, "fields": {"it": {"css": "i"}}}])
def test_a_rule_whose_matches_hold_each_other_ends_as_a_malformed_record(rule: dict[str, Any]) -> None:
    spec = a_spec(extract=[{"type": "t", **rule}])
    assert spec.extract is not None

    records = list(Rule(spec.extract[0], visits=FEW).records(a_page(DEEP)))

    assert "lie inside each other" in records[-1].problems[0]
    assert all(record.problems == () for record in records[:-1])


def test_the_page_and_its_other_rules_go_on() -> None:
    rules = [{"type": "bad", "fields": HTML}, {"type": "good", "fields": {"it": {"css": "i"}}}]

    reading = a_reading(f"<i>fine</i><a href=/n>n</a><h1>{DEEP * 5}", spec=a_spec(extract=rules))

    assert [(record.type, bool(record.problems)) for record in reading.records] == [("bad", True), ("good", False)]
    assert [target.url.canonical for target in reading.targets] == ["https://books.example/n"]


def test_misplaced_elements_and_pieces_of_text_cost_beautifulsoup_no_more_than_others() -> None:
    began = time.process_time()

    records = extracted(MISPLACED, {"type": "t", "fields": {"it": {"css": "b:-soup-contains('y')"}}})

    assert len(records) == 1
    assert time.process_time() - began < 5


def test_texts_that_comments_part_are_put_together_at_once_for_xpath() -> None:
    pieces = 200_000
    began = time.process_time()

    records = extracted("<p>" + "a<!-- -->" * pieces, {"type": "t", "fields": {"n": {"xpath": "string-length(//p)"}}})

    assert [record.data for record in records] == [{"n": str(pieces)}]
    assert time.process_time() - began < 5


def test_beautifulsoup_is_given_a_bounded_number_of_elements() -> None:
    page = LexborTree("<br>x" * 100)

    with pytest.raises(Exhausted, match="more than 150 elements"):
        soup_of(page, most_nodes=150)
    assert len(soup_of(page, most_nodes=250)("br")) == 100


@pytest.mark.parametrize(
    ("count", "css"), [(MOST_SIBLINGS, "p:nth-child(2)"), (MOST_SIBLINGS_SLOW, "p:nth-last-child(2 of .x)")]
)
def test_siblings_are_counted_up_to_a_bound(count: int, css: str) -> None:
    rule = {"type": "t", "fields": {"it": {"css": css}}}

    records = extracted("<p>x" * (count + 1), rule)

    assert "too many for a selector that counts" in records[0].problems[0]
    assert [record.problems for record in extracted("<p class=x>x" * 20, rule)] == [()]


def test_objects_within_objects_are_read_up_to_a_bound() -> None:
    rule: dict[str, Any] = {"css": "i"}
    for _ in range(5):
        rule = {"css": "div", "many": True, "fields": {"it": rule}}

    records = extracted("<div>" * 60, {"type": "t", "fields": {"it": rule}})

    assert "lie inside each other" in records[0].problems[0]


def test_a_search_in_json_that_doubles_what_it_finds_is_a_malformed_record() -> None:
    rule = {"type": "t", "fields": {"it": {"json": " | ".join(["[@,@][]"] * 30), "many": True}}}

    records = extracted("[1]", rule, {"type": "u", "fields": {"it": {"json": "[0]"}}}, content_type="application/json")

    assert [(record.type, record.data, bool(record.problems)) for record in records] == [
        ("t", {"it": None}, True),
        ("u", {"it": "1"}, False),
    ]


def test_of_a_page_that_is_gzip_by_itself_no_more_is_unpacked_than_a_page_may_have() -> None:
    bomb = gzip.compress(b"<p>x</p>" + b" " * MAX_PAGE_BYTES + b"<a href=/beyond>", 9)

    reading = a_reading(bomb)

    assert reading.text is not None
    assert (len(reading.text.text), reading.targets) == (MAX_PAGE_BYTES, [])
