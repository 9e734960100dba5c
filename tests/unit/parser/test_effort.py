"""Pages in which everything lies inside everything else cost a bounded number of steps, and the page goes on."""

import time
from typing import Any

import pytest
from tests.unit.parser.pages import a_reading, a_spec, extracted

DEEP = "<span>x" * 1_500
FIELD = {"it": {"css": "span", "many": True}}
HTML = {"it": {"css": "span", "many": True, "type": "html"}}


@pytest.mark.parametrize(
    "rule",
    [
        {"fields": FIELD},
        {"fields": HTML},
        {"each": "span:-soup-contains('x')", "fields": {"it": {"css": "i"}}},
    ],
)
def test_a_rule_whose_matches_hold_each_other_ends_as_a_malformed_record(rule: dict[str, Any]) -> None:
    began = time.process_time()

    records = extracted(DEEP * (10 if "html" in str(rule) else 1), {"type": "t", **rule})

    assert "lie inside each other" in records[-1].problems[0]
    assert all(record.problems == () for record in records[:-1])
    assert time.process_time() - began < 30


def test_the_page_and_its_other_rules_go_on() -> None:
    rules = [{"type": "bad", "fields": HTML}, {"type": "good", "fields": {"it": {"css": "i"}}}]

    reading = a_reading(f"<i>fine</i><a href=/n>n</a><h1>{DEEP * 10}", spec=a_spec(extract=rules))

    assert [(record.type, bool(record.problems)) for record in reading.records] == [("bad", True), ("good", False)]
    assert [target.url.canonical for target in reading.targets] == ["https://books.example/n"]
