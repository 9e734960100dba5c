import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.parser.pages import a_reading, forwarded

from odradek_parser.core.headers import HeaderLink, header_links


@pytest.mark.parametrize(
    ("value", "links"),
    [
        (None, []),
        ("", []),
        ("<a>; rel=next", [HeaderLink("a", "next")]),
        ('<a>;rel="Prev Next" , </b>; REL=canonical', [HeaderLink("a", "prev next"), HeaderLink("/b", "canonical")]),
        ('<a>; rel=next; rel=prev; title="x, \\"y\\"; z"', [HeaderLink("a", "next", 'x, "y"; z')]),
        ("<https://x.example/?a=1,2;3>; rel=next", [HeaderLink("https://x.example/?a=1,2;3", "next")]),
        ('<a>; rel=next; anchor="#part"', []),
        ("<a>", [HeaderLink("a", "")]),
        ("junk, <a>; rel=next", [HeaderLink("a", "next")]),
        ("<a; rel=next, <b>; rel=prev", [HeaderLink("a; rel=next, <b", "prev")]),
        ("<a>; rel=next,,, ,<b>;rel=prev", [HeaderLink("a", "next"), HeaderLink("b", "prev")]),
        ("<a>; title*=UTF-8''x; rel = next", [HeaderLink("a", "next")]),
    ],
)
def test_links_of_a_header_are_read_as_rfc_8288_writes_them(value: str | None, links: list[HeaderLink]) -> None:
    assert header_links(value) == links


@given(st.text('<>;,="\\ relnxta/', max_size=300))
def test_whatever_a_header_says_is_read_at_once(value: str) -> None:
    assert len(header_links(value)) <= 200


def test_a_link_header_leads_on_from_the_pages_own_url_whatever_base_it_names() -> None:
    html = '<base href="/elsewhere/"><a href=a>'
    header = "<?page=2>; rel=next, <style.css>; rel=stylesheet, </x>; rel=preload, </de>; rel=alternate; hreflang=de"

    reading = a_reading(html, headers={"link": header})

    assert forwarded(reading) == [
        "https://books.example/elsewhere/a",
        "https://books.example/list/?page=2",
        "https://books.example/de",
    ]


def test_a_link_header_of_a_file_that_has_no_links_of_its_own_is_followed() -> None:
    reading = a_reading('{"a": 1}', content_type="application/json", headers={"link": "<?page=2>; rel=next"})

    assert forwarded(reading) == ["https://books.example/list/?page=2"]


@pytest.mark.parametrize(
    ("html", "canonical"),
    [("<p>", "https://books.example/c"), ("<link rel=canonical href=/own>", "https://books.example/own")],
)
def test_the_canonical_url_is_recorded_from_element_or_header(html: str, canonical: str) -> None:
    [record] = a_reading(html, headers={"link": "</c>; rel=canonical"}).records

    assert record.data["canonical"] == canonical
