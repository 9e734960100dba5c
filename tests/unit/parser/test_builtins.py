from typing import Any

import pytest
from tests.unit.parser.pages import URL, a_reading, a_spec, extracted

from odradek_parser.core.builtins import MAX_ARTICLE_CHARS

PARAGRAPH = "The odradek lives by turns in the attic, the stairway, the corridors and the entrance hall of the house. "
ARTICLE = f"""<!doctype html><html lang=en><head><title>Cares | House</title>
<meta name=description content="On a spool of thread"><meta name=author content="Franz Kafka">
<meta property="article:published_time" content="2019-05-01T10:00:00Z"><meta property="og:site_name" content="House">
</head><body><nav><ul><li><a href=/a>Menu entry</a><li><a href=/b>Another entry</a></ul></nav>
<article><h1>The cares</h1><p>{PARAGRAPH * 4}</p><p>{PARAGRAPH * 3}</p></article>
<footer><p>Imprint and cookies</p></footer></body></html>"""


def the_article(html: str) -> list[dict[str, Any]]:
    return [record.data for record in extracted(html, {"type": "text", "builtin": "article"})]


def test_an_article_is_its_main_text_and_metadata_without_the_furniture() -> None:
    [found] = the_article(ARTICLE)

    text = found.pop("text")
    assert found == {
        "title": "The cares",
        "description": "On a spool of thread",
        "language": "en",
        "author": "Franz Kafka",
        "published": "2019-05-01",
        "site_name": "House",
        "truncated": False,
    }
    assert text.count("The odradek lives") == 7
    assert "Menu entry" not in text
    assert "Imprint" not in text


@pytest.mark.parametrize("html", ["", "<p>", "<nav><a href=/a>x</a></nav>", "\0"])
def test_a_page_without_main_text_has_no_article(html: str) -> None:
    assert the_article(html) == []


def test_of_a_page_beyond_the_limit_the_beginning_is_read_and_said_to_be_cut() -> None:
    [found] = the_article(ARTICLE.replace("<footer>", f"<!--{'x' * MAX_ARTICLE_CHARS}--><footer>"))

    assert found["truncated"]
    assert found["text"].count("The odradek lives") == 7


def test_links_are_records_with_element_relation_and_what_a_reader_sees_of_them() -> None:
    html = """<link rel=NEXT href="?p=2"><a href="/a" rel="nofollow ugc"> One <b>two</b></a><area href=b alt="Map part">
    <a href="/c"><img src=x alt="A picture"></a><a href="#top" title=Top></a><iframe src="f"></iframe><a href="">no</a>
    <a href="http://[">no</a><meta http-equiv=refresh content="99;url=/late">"""
    spec = a_spec(extract=[{"type": "link", "builtin": "links"}])

    records = a_reading(html, spec=spec, headers={"link": '</h>; rel=prev; title="Head"'}).records

    assert [tuple(record.data.values()) for record in records] == [
        (f"{URL}?p=2", "link", "next", ""),
        ("https://books.example/a", "a", "nofollow ugc", "One two"),
        (f"{URL}b", "area", None, "Map part"),
        ("https://books.example/c", "a", None, "A picture"),
        (f"{URL}#top", "a", None, "Top"),
        (f"{URL}f", "iframe", None, ""),
        ("https://books.example/late", "refresh", None, ""),
        ("https://books.example/h", "header", "prev", "Head"),
    ]
    assert list(records[0].data) == ["url", "element", "rel", "text"]
    assert [record.position for record in records] == list(range(8))
