from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html
from tests.unit.parser.pages import URL, a_reading, a_request, a_spec, forwarded, the_url

from odradek.contracts import Hop
from odradek_parser.core.parsing import Target


def link(path: str, **attributes: str) -> str:
    rest = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<a href="{path}"{rest}>x</a>'


@pytest.mark.parametrize(
    ("html", "target"),
    [
        ('<a href="a">', "https://books.example/list/a"),
        ('<area href="/a">', "https://books.example/a"),
        ('<link rel="next" href="?p=2">', "https://books.example/list/?p=2"),
        ('<link rel="canonical" href="/c">', "https://books.example/c"),
        ('<link rel="ALTERNATE" hreflang=de href="/de">', "https://books.example/de"),
        ('<iframe src="frame">', "https://books.example/list/frame"),
        ('<frameset><frame src="left">', "https://books.example/list/left"),
        ('<a href=" \n b \t">', "https://books.example/list/b"),
        ('<a href="//cdn.books.example/x">', "https://cdn.books.example/x"),
        ('<a href="a#part">', "https://books.example/list/a"),
        ('<a href="Ä ö">', "https://books.example/list/%C3%84%20%C3%B6"),
        ('<svg><a href="/svg"></a></svg>', "https://books.example/svg"),
        ('<meta http-equiv="refresh" content="60; url=/later">', "https://books.example/later"),
    ],
)
def test_a_reference_is_a_link(html: str, target: str) -> None:
    assert forwarded(a_reading(html)) == [target]


@pytest.mark.parametrize(
    "html",
    ["<link rel=stylesheet href=a.html>", '<link rel="alternate stylesheet" href=a>', "<a name=x>", "<img src=a.html>",
     '<a href="">', '<a href="#top">', "<template><a href=/x></a></template>", "<!-- <a href=/x> -->",
     "<script>'<a href=/x>'</script>", '<form action="/x">'],
)  # fmt: skip
def test_what_leads_nowhere_is_no_link_and_not_counted(html: str) -> None:
    reading = a_reading(html)

    assert (reading.targets, reading.sifted.counts().found) == ([], 0)


def test_links_resolve_against_the_final_url_and_the_first_base_wherever_it_stands() -> None:
    html = '<a href="a"></a><base target=x><base href="/b/"><base href="/c/">'

    assert forwarded(a_reading(html, final_url="https://www.books.example/x/y")) == ["https://www.books.example/b/a"]


@pytest.mark.parametrize("base", ["mailto:x@y", "javascript:1", "http://[", ""])
def test_a_base_that_is_no_web_address_is_ignored(base: str) -> None:
    assert forwarded(a_reading(f'<base href="{base}"><a href="a">')) == ["https://books.example/list/a"]


def test_each_link_is_counted_once_as_forwarded_duplicate_or_refused_with_its_reason() -> None:
    plain = (
        "new",
        "new",
        "new#part",
        "known",
        "https://other.example/",
        "mailto:a@b",
        "http://[",
        "a.pdf",
        "/private/x",
    )
    html = "".join(map(link, plain)) + link("no", rel="NoFollow ugc") + link("x" * 2100)
    spec = a_spec(scope={"exclude": ["/private/"]})

    reading = a_reading(html, spec=spec, known=[the_url("https://books.example/list/known").fp])

    assert forwarded(reading) == ["https://books.example/list/new"]
    assert (reading.sifted.duplicates, reading.sifted.refused) == (
        3,
        {"scope": 1, "scheme": 1, "malformed": 1, "extension": 1, "nofollow": 1, "excluded": 1, "too_long": 1},
    )
    assert reading.sifted.counts().found == 10


def test_depth_grows_by_one_and_is_limited() -> None:
    html, spec = link("a"), a_spec(scope={"max_depth": 2})

    assert a_reading(html, spec=spec, request=a_request(depth=1)).targets == [
        Target(the_url("https://books.example/list/a"), 2)
    ]
    assert a_reading(html, spec=spec, request=a_request(depth=2)).sifted.refused == {"depth": 1}


def test_a_job_that_does_not_follow_links_counts_none() -> None:
    reading = a_reading(link("a"), spec=a_spec(scope={"follow_links": False}))

    assert (reading.targets, reading.sifted.counts().found) == ([], 0)


@pytest.mark.parametrize(
    ("head", "headers", "followed", "indexed"),
    [
        ("", {}, True, True),
        ('<meta name="robots" content="NOINDEX, follow">', {}, True, False),
        ('<meta name="ROBOTS" content="nofollow">', {}, False, True),
        ('<meta name="robots" content="none">', {}, False, False),
        ('<meta name="otherbot" content="none">', {}, True, True),
        ('<meta name="odradek" content="none">', {}, False, False),
        ("", {"x-robots-tag": "noindex"}, True, False),
        ("", {"x-robots-tag": "otherbot: noindex, nofollow"}, True, True),
        ("", {"x-robots-tag": "otherbot: noindex, odradek: nofollow"}, False, True),
        ("", {"x-robots-tag": "unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"}, False, True),
    ],
)
def test_robots_directives_of_page_and_header_are_obeyed(
    head: str,
    headers: dict[str, str],
    *,
    followed: bool,
    indexed: bool,
) -> None:
    reading = a_reading(f"{head}<a href=a>", headers=headers)

    assert (bool(reading.targets), bool(reading.records)) == (followed, indexed)
    assert reading.kept
    assert reading.sifted.refused == ({} if followed else {"nofollow": 1})


def test_a_job_that_does_not_respect_robots_ignores_directives() -> None:
    spec = a_spec(politeness={"respect_robots": False})

    reading = a_reading("<meta name=robots content=none><a href=a rel=nofollow>", spec=spec)

    assert (len(reading.targets), len(reading.records)) == (1, 1)


def test_a_redirect_target_keeps_depth_seed_and_chain() -> None:
    request = a_request(seed=True, depth=0, chain=(Hop(url="http://books.example/", status=301),))

    reading = a_reading(None, request=request, outcome="redirected", status=302, location="https://www.else.example/x")

    chain = (Hop(url="http://books.example/", status=301), Hop(url=URL, status=302))
    target = Target(the_url("https://www.else.example/x"), 0, seed=True, chain=chain, site="else.example")
    assert (reading.targets, reading.kept, reading.records) == ([target], False, [])


def test_a_redirect_out_of_scope_is_refused_and_counted() -> None:
    reading = a_reading(None, request=a_request(depth=3), outcome="redirected", location="https://www.else.example/x")

    assert (reading.targets, reading.sifted.refused) == ([], {"scope": 1})


def test_a_meta_refresh_at_once_is_a_redirect_and_the_page_is_kept() -> None:
    reading = a_reading("<meta http-equiv=Refresh content=\"0;URL='/new'\">", request=a_request(seed=True))

    chain = (Hop(url=URL, status=200),)
    target = Target(the_url("https://books.example/new"), 0, seed=True, chain=chain, site="books.example")
    assert (reading.targets, reading.kept) == ([target], True)


@pytest.mark.parametrize(("outcome", "kept"), [("failed", False), ("skipped", False), ("not_modified", True)])
def test_what_was_not_fetched_has_neither_links_nor_records(outcome: str, *, kept: bool) -> None:
    reading = a_reading(None, outcome=outcome, reason="dns")

    assert (reading.targets, reading.records, reading.kept) == ([], [], kept)


APART = ("//", " #", " ?")
words = st.text("ab/.?#=&%2:~ é", max_size=12).filter(lambda href: not any(each in href for each in APART))


@settings(max_examples=150, deadline=None)
@given(st.lists(words, max_size=6))
def test_links_are_those_of_an_independent_implementation(hrefs: list[str]) -> None:
    """lxml and urllib, apart from `//` and a space before fragment or query, where urllib is no reference."""
    page = "<!doctype html><body>" + "".join(f"<a href='{href}'>x</a>" for href in hrefs)
    expected = set()
    for element, _, href, _ in lxml_html.document_fromstring(page).iterlinks():
        plain = href.strip()
        if element.tag != "a" or not plain or plain.startswith("#"):
            continue
        try:
            absolute = urljoin(URL, plain)
        except ValueError:
            continue
        if urlsplit(absolute).scheme == "https" and urlsplit(absolute).hostname == "books.example":
            expected.add(the_url(absolute).fp)
    reading = a_reading(page, spec=a_spec(scope={"deny_extensions": []}))

    found = {target.url.fp for target in reading.targets}

    assert found == expected
