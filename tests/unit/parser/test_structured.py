from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from odradek_parser.core.structured import structured_data
from odradek_parser.core.trees import LexborTree


def structured(html: str, *properties: tuple[str, str]) -> dict[str, Any]:
    return structured_data(LexborTree(html), "https://books.example/a/", list(properties))


def test_a_page_without_structured_data_gives_nothing() -> None:
    assert structured("<p>x") == {}


def test_json_ld_is_taken_as_it_stands_and_what_is_broken_is_left_out() -> None:
    html = """<script type="application/ld+json">{"@type": "Book", "name": "A</b>"}</script>
      <script type="Application/LD+JSON"> <!-- [{"@type": "B"}, 1] --> </script>
      <script type="application/ld+json">{broken</script><script>{"@type": "no"}</script>"""

    assert structured(html) == {"json_ld": [{"@type": "Book", "name": "A</b>"}, {"@type": "B"}, 1]}


def test_json_ld_that_no_store_takes_does_not_cost_the_page_its_other_data() -> None:
    deep = '{"a":' * 95 + "1" + "}" * 95
    html = f"""<script type="application/ld+json">{{"sku": 12345678901234567890, "low": -9223372036854775808}}</script>
      <script type="application/ld+json">{deep}</script><script type="application/ld+json">{{"name": "B"}}</script>"""

    assert structured(html) == {"json_ld": [{"sku": "12345678901234567890", "low": -(2**63)}, {"name": "B"}]}


def test_microdata_is_read_by_the_algorithm_of_the_html_standard() -> None:
    html = """<div itemscope itemtype="https://schema.org/Book" itemid="/b1" itemref="more">
      <h3 itemprop="name title">A <b>book</b></h3><img itemprop=image src=i.png><meta itemprop=isbn content=123>
      <time itemprop=date datetime=2024-05-01>May</time>
      <div itemprop=offers itemscope itemtype=Offer><span itemprop=price content=12.5>12,5 EUR</span></div>
      </div><p id=more><i itemprop=author>X</i></p><div itemscope></div>"""

    assert structured(html)["microdata"] == [
        {
            "type": "https://schema.org/Book",
            "id": "https://books.example/b1",
            "properties": {
                "name": ["A book"],
                "title": ["A book"],
                "image": ["https://books.example/a/i.png"],
                "isbn": ["123"],
                "date": ["2024-05-01"],
                "offers": [{"type": "Offer", "properties": {"price": ["12.5"]}}],
                "author": ["X"],
            },
        },
        {"properties": {}},
    ]


def test_an_item_that_refers_to_itself_ends() -> None:
    html = (
        '<div id=a itemscope itemref="b"></div><div id=b itemprop=x itemscope itemref="a b"><i itemprop=y>1</i></div>'
    )

    assert structured(html)["microdata"] == [{"properties": {"x": [{"properties": {"y": ["1"]}}]}}]


def test_a_property_given_several_times_is_a_list() -> None:
    assert structured("", ("og:image", "a"), ("og:title", "t"), ("og:image", "b"), ("og:image", "c")) == {
        "opengraph": {"og:image": ["a", "b", "c"], "og:title": "t"}
    }


@given(st.lists(st.sampled_from(("<div itemscope>", "<p itemprop=a>", "</div>", "<i itemprop=b itemscope id=x>",
    "</p>", "<b itemscope itemref='x y'>", "<u id=y itemprop=c>", "t")), max_size=25).map("".join))  # fmt: skip
def test_any_nesting_of_items_ends(html: str) -> None:
    assert isinstance(structured(html), dict)
