import re
from typing import Any

import pytest
from tests.unit.parser.pages import URL, a_page, a_spec, extracted, extraction

from odradek_parser.core.rules import Record, compile_rules

CARDS = """<!doctype html><html lang=en><head><title>Books</title><base href="/shop/"></head><body>
<article class=product data-sku=A1><h3> The  <b>B</b>ook<script>x()</script> </h3><p class=price>£1,299.50</p>
  <a href="b/1">more</a><ul><li class=tag>old<li class=tag> <li class=tag>rare</ul>
  <p class=note>size 12 cm</p></article>
<article class=product data-sku=""><h3></h3><p class=price>ask us</p></article>
</body></html>"""


def card(**fields: Any) -> dict[str, Any]:
    return {"type": "book", "each": "article.product", "fields": fields}


def data(html: str, **fields: Any) -> list[dict[str, Any]]:
    return [record.data for record in extracted(html, card(**fields))]


def one(field: dict[str, Any], html: str = CARDS) -> Any:
    return data(html, it=field)[0]["it"]


def test_one_record_for_every_match_of_each() -> None:
    fields = {"sku": {"css": "&", "attr": "data-sku"}, "title": {"css": "h3"}}

    assert extracted(CARDS, card(**fields)) == [
        Record("book", 0, {"sku": "A1", "title": "The Book"}),
        Record("book", 1, {"sku": None, "title": None},
               empty=("sku: what was found is empty", "title: what was found is empty")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"css": "h3"}, "The Book"),
        ({"css": ".price", "type": "decimal"}, "1299.50"),
        ({"css": ".tag", "many": True}, ["old", "rare"]),
        ({"css": ".nothing", "many": True}, []),
        ({"css": ".nothing"}, None),
        ({"css": ".nothing", "default": "none"}, "none"),
        ({"css": ".note", "regex": r"(\d+) cm", "type": "integer"}, 12),
        ({"css": ".note", "regex": r"\d+ cm"}, "12 cm"),
        ({"css": ".note", "regex": r"(\d+) inch"}, None),
        ({"css": "a", "attr": "href", "type": "url"}, "https://books.example/shop/b/1"),
        ({"css": "a", "type": "url"}, "https://books.example/shop/b/1"),
        ({"css": "b", "type": "html"}, "<b>B</b>"),
        ({"css": "& > h3"}, "The Book"),
        ({"css": "& > b"}, None),
        ({"css": "&", "attr": "data-sku"}, "A1"),
        ({"css": "article"}, None),
        ({"xpath": "./h3/b"}, "B"),
        ({"xpath": "count(.//li)", "type": "integer"}, 3),
        ({"xpath": "string(./p[@class='price'])", "type": "decimal"}, "1299.50"),
        ({"xpath": ".//li/@class", "many": True}, ["tag", "tag", "tag"]),
        ({"xpath": "ancestor::html/@lang"}, "en"),
        ({"css": "h3:-soup-contains('Book')"}, "The Book"),
        ({"css": "ul", "fields": {"first": {"css": "li"}, "none": {"css": "x"}}}, {"first": "old", "none": None}),
        ({"css": "x", "fields": {"first": {"css": "li"}}}, None),
        ({"css": "li", "many": True, "fields": {"text": {"css": "&"}}}, [{"text": "old"}, {"text": "rare"}]),
    ],
)
def test_a_field_is_found_and_made_a_value(field: dict[str, Any], value: Any) -> None:
    assert one(field) == value


def test_a_boolean_attribute_is_true_by_being_there() -> None:
    html = "<article class=product><input disabled></article><article class=product><input></article>"

    assert data(html, off={"css": "input", "attr": "disabled", "type": "boolean"}) == [{"off": True}, {"off": None}]


def test_a_required_field_that_is_missing_and_a_value_that_does_not_parse_make_the_record_malformed() -> None:
    records = extracted(
        CARDS, card(title={"css": "h3", "required": True}, price={"css": ".price", "type": "decimal"})
    )  # fmt: skip

    assert [record.problems for record in records] == [
        (),
        ("title: what was found is empty", "price: 'ask us' is not a number"),
    ]


def test_a_required_field_of_a_nested_object_is_named_with_its_path() -> None:
    field = {"css": "ul", "fields": {"x": {"css": "li"}, "price": {"css": ".nope", "required": True}}}

    assert extracted(CARDS, card(offer=field))[0].problems == ("offer.price: nothing matches css .nope",)


def test_the_key_is_made_of_fields_and_an_empty_one_is_malformed() -> None:
    rule = card(sku={"css": "&", "attr": "data-sku"}) | {"key": ["sku"]}

    records = extracted(CARDS, rule)

    assert [(record.key, record.problems) for record in records] == [
        (("A1",), ()),
        (("None",), ("sku: is part of the key and empty",)),
    ]


def test_a_rule_speaks_only_about_urls_that_match() -> None:
    rules = [
        card(t={"css": "h3"}) | {"match": "/list/$"},
        card(t={"css": "h3"}) | {"match": "/other/", "type": "other"},
    ]

    assert {record.type for record in extracted(CARDS, *rules)} == {"book"}


def test_a_page_without_anything_of_a_rule_for_the_page_gives_no_record() -> None:
    rule = {"type": "one", "fields": {"price": {"css": ".price", "required": True}, "note": {"css": ".note"}}}

    assert extracted("<p>nothing", rule) == []
    assert [record.problems for record in extracted("<p class=note>x", rule)] == [
        ("price: nothing matches css .price",)
    ]


@pytest.mark.parametrize(
    ("rule", "engine"),
    [
        (card(a={"css": "a > b:nth-child(2)"}), "lexbor"),
        (card(a={"css": "& > b"}), "lexbor"),
        (card(a={"css": "& > b > c"}), "beautifulsoup"),
        (card(a={"css": "x", "fields": {"b": {"css": "p:lang(en)"}}}), "beautifulsoup"),
        (card(a={"css": "a:any-link"}), "beautifulsoup"),
        (card(a={"css": '[title=":lang(en)"]'}), "lexbor"),
    ],
)
def test_the_engine_of_a_rule_is_the_fast_one_unless_a_selector_needs_the_other(rule: Any, engine: str) -> None:
    rules = extraction(rule).rules

    assert rules is not None
    assert rules[0].engine == engine


def test_the_tree_is_the_one_of_the_html_standard_in_both_engines_and_for_xpath() -> None:
    table = "<table><tr><td>1</table>"
    fields = {"direct": {"css": "table > tr"}, "body": {"css": "table > tbody > tr"}}

    expected = {"direct": None, "body": "1"}
    assert extracted(table, {"type": "t", "fields": fields})[0].data == expected
    slow = fields | {"slow": {"css": "td:-soup-contains('1')"}, "xpath": {"xpath": "//table/tbody/tr"}}
    assert extracted(table, {"type": "t", "fields": slow})[0].data == expected | {"slow": "1", "xpath": "1"}


def test_json_responses_are_read_by_jmespath() -> None:
    rule = {
        "type": "book",
        "each": "data.books",
        "key": ["id"],
        "fields": {
            "id": {"json": "id"},
            "price": {"json": "price", "type": "decimal"},
            "tags": {"json": "tags[*].name", "many": True},
            "link": {"json": "href", "type": "url"},
            "sold": {"json": "sold", "type": "boolean"},
            "none": {"json": "none"},
        },
    }
    body = '{"data": {"books": [{"id": 7, "price": 12.5, "tags": [{"name": "a"}], "href": "/x", "sold": false}]}}'

    assert extracted(body, rule, content_type="application/json") == [
        Record(
            "book", 0,
            {"id": "7", "price": "12.5", "tags": ["a"], "link": "https://books.example/x", "sold": False, "none": None},
            ("7",), empty=("none: nothing matches json none",),
        )
    ]  # fmt: skip


def test_each_of_a_json_rule_is_a_jmespath_also_with_a_filter() -> None:
    rule = {"type": "x", "each": "items[?price > `2`] | [*].{id: id}", "fields": {"id": {"json": "id"}}}
    body = '{"items": [{"id": 1, "price": 1}, {"id": 2, "price": 3}, {"id": 3, "price": 4}]}'

    assert [record.data for record in extracted(body, rule, content_type="application/json")] == [
        {"id": "2"},
        {"id": "3"},
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"each": "items[", "fields": {"id": {"json": "id"}}}, "each: 'items[' is not a JMESPath"),
        ({"each": "li[", "fields": {"id": {"css": "b"}}}, "each: 'li[' is not a CSS selector"),
        ({"each": "li::text", "fields": {"id": {"css": "b"}}}, "each: 'li::text': ::text"),
        ({"fields": {"id": {"json": "id"}, "b": {"css": "b"}}}, "mixes json with css or xpath"),
        ({"fields": {"id": {"json": "id", "fields": {"b": {"css": "b"}}}}}, "mixes json with css or xpath"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_at_submission(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        extraction({"type": "x", **rule})


def test_a_response_that_is_not_the_json_it_says_is_malformed() -> None:
    rule = {"type": "book", "fields": {"id": {"json": "id"}}}

    [record] = extracted("{oops", rule, content_type="application/json")

    assert record.problems[0].startswith("the response is not the JSON that was expected")


def test_xml_is_read_by_the_same_rules() -> None:
    xml = '<?xml version="1.0"?><list><book id="1"><Title>A</Title></book><book id="2"><Title>B</Title></book></list>'
    rule = {"type": "book", "each": "book", "fields": {"id": {"css": "&", "attr": "id"}, "title": {"css": "Title"}}}

    assert [record.data for record in extracted(xml, rule, content_type="application/xml")] == [
        {"id": "1", "title": "A"},
        {"id": "2", "title": "B"},
    ]


def test_without_extract_a_page_is_one_record_of_what_it_says_of_itself() -> None:
    html = """<!doctype html><html lang=de><title> A
      page </title><meta name=description content=" about  it "><link rel=canonical href=/c><h1>Hello <i>you</i></h1>
      <meta property=og:title content=OG><script type=application/ld+json>{"@type": "Book"}</script>"""

    assert list(compile_rules(a_spec()).records(a_page(html))) == [
        Record("page", 0, {
            "url": URL, "title": "A page", "description": "about it", "language": "de",
            "canonical": "https://books.example/c", "h1": "Hello you", "status": 200, "content_type": "text/html",
            "structured_data": {"json_ld": [{"@type": "Book"}], "opengraph": {"og:title": "OG"}},
        })
    ]  # fmt: skip


def test_an_empty_extract_means_no_records() -> None:
    assert list(compile_rules(a_spec(extract=[])).records(a_page(CARDS))) == []
