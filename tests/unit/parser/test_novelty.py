"""What a page shows in short: the same for pages that bring nothing new, another one for each that does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.testing.site import Catalogue

from .pages import a_reading, a_spec


def content(html: str, url: str = "https://books.example/list/7?sort=up", **more: object) -> str | None:
    return a_reading(html, url=url, **more).content  # type: ignore[arg-type]  # a builder


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>Events of 2031-05: none</p>", "<p>Events of 2032-06: none</p>"),
        ("<p>a</p><p>b</p><p>c</p>", "<p>c</p><p>a</p><p>b</p>"),
        ("<p>a</p><script>nonce = 1</script>", "<p>a</p><script>nonce = 2</script>"),
        ("<p>a</p><style>p { top: 1px }</style>", "<p>a</p><style>p { top: 2px }</style>"),
        ("<p>a</p><!-- 1 -->", "<p>a</p><!-- 2 -->"),
        ("<p>a</p><a href='/list/1'>next</a>", "<p>a</p><a href='/list/2'>next</a>"),
        ("<title>Page 2031-05</title><p>a</p>", "<title>Page 2032-06</title><p>a</p>"),
    ],
)
def test_pages_that_say_the_same_have_one_content(one: str, other: str) -> None:
    first = content(one, "https://books.example/list/2031-05")
    assert first is not None
    assert first == content(other, "https://books.example/list/2032-06")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>an anvil</p>", "<p>a birch</p>"),
        ("<p>price 12</p>", "<p>price 13</p>"),
        ("<p>x</p><img src='1.png'>", "<p>x</p><img src='2.png'>"),
        ("<title>Anvil</title><p>x</p>", "<title>Birch</title><p>x</p>"),
        ("<meta name=description content=Anvil><p>x</p>", "<meta name=description content=Birch><p>x</p>"),
        ("<meta property=og:title content=Anvil><p>x</p>", "<meta property=og:title content=Birch><p>x</p>"),
        (
            "<script type='application/ld+json'>{'name': 'a'}</script><p>x</p>",
            "<script type='application/ld+json'>{'name': 'b'}</script><p>x</p>",
        ),
        ("<p>a</p>", "<p>a</p><p>b</p>"),
    ],
)
def test_pages_that_say_something_else_differ(one: str, other: str) -> None:
    assert content(one, "https://books.example/list/7") != content(other, "https://books.example/list/8")


def test_a_page_that_stands_for_itself_and_one_without_text_have_none() -> None:
    assert content("<p>a</p>", "https://books.example/about.html") is None
    assert content("<script>1</script>") is None


def test_without_quarantine_nothing_is_hashed() -> None:
    assert content("<p>a</p>", spec=a_spec(traps=False)) is None


def test_of_text_that_is_no_html_the_text_counts() -> None:
    one, other = (content(text, content_type="application/json") for text in ('{"a": 1}', '{"a": 2}'))
    assert one is not None
    assert one != other


@given(st.lists(st.text("ab<>&; ", max_size=20), max_size=10), st.randoms())
def test_order_does_not_matter(pieces: list[str], rng: object) -> None:
    shuffled = list(pieces)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    one, other = (
        "".join(f"<p>{p.replace('<', '&lt;')}</p>" for p in each) + "<p>end</p>" for each in (pieces, shuffled)
    )
    assert content(one) == content(other)


@pytest.mark.parametrize("cards", [0, 10])
def test_every_page_of_the_bench_site_says_something_else(cards: int) -> None:
    catalogue = Catalogue(cards=cards)
    found = {content(catalogue.body(page).decode(), catalogue.url(page)) for page in range(150)}
    assert len(found) == 150
    assert None not in found
