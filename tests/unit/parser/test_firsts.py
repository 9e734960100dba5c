"""What is found first below many records in one walk over the page is what is found below each of them alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.parser.pages import extracted
from tests.unit.parser.test_engines_agree import EXAMPLES, TAGS, page

from odradek_parser.core.firsts import Firsts, is_plain
from odradek_parser.core.trees import LexborTree

plain = st.builds(
    "{}{}".format,
    st.sampled_from(TAGS[:13]),
    st.sampled_from(("", ".x", ".x.y", "#n", "[href]", '[class~="y"]', '[href^="/"]')),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(page, st.sampled_from((*TAGS, "*", "div, p, b")), plain)
def test_records_find_together_what_each_finds_alone_also_within_each_other(html: str, each: str, css: str) -> None:
    tree = LexborTree(html)
    records = tree.all(tree.root, each)

    found = Firsts(tree.root, records).of(css)

    alone = {record.mem_id: tree.first(record, css) for record in records}
    assert {number: match and match.mem_id for number, match in found.items()} == {
        number: match and match.mem_id for number, match in alone.items()
    }


@pytest.mark.parametrize("css", ["b", ".price", "h3.title", "#top", "a[href]", 'td[class="x y"]', 'a[rel~="next"].x'])
def test_one_compound_is_plain(css: str) -> None:
    assert is_plain(css)


@pytest.mark.parametrize(
    "css", ["", "div b", "div>b", "b, i", "b:first-child", ":not(b)", "*|b", "& > b", "a + b", "a\\.b", "[a=b i]"]
)
def test_what_depends_on_more_than_the_element_is_not(css: str) -> None:
    assert not is_plain(css)


def test_objects_within_records_are_read_below_themselves() -> None:
    html = "<article><p><b>1</b></p><p><b>2</b></p></article><article><i>x</i><p><b>3</b></p></article>"
    rule = {
        "type": "t",
        "each": "article",
        "fields": {"first": {"css": "b"}, "each": {"css": "p", "many": True, "fields": {"it": {"css": "b"}}}},
    }

    assert [record.data for record in extracted(html, rule)] == [
        {"first": "1", "each": [{"it": "1"}, {"it": "2"}]},
        {"first": "3", "each": [{"it": "3"}]},
    ]


def test_a_rule_after_another_finds_its_own_records() -> None:
    html = "<article><b>1</b><p><b>2</b></p></article><article><p><b>3</b></p></article>"
    rules = [{"type": each, "each": each, "fields": {"it": {"css": "b"}}} for each in ("article", "p")]

    assert [(record.type, record.data["it"]) for record in extracted(html, *rules)] == [
        ("article", "1"),
        ("article", "3"),
        ("p", "2"),
        ("p", "3"),
    ]
