"""Joining and canonicalising by the WHATWG URL standard: its own cases where they are at hand, and ours by category.

The cases of web-platform-tests come with the crate `url` (`cargo add url; cargo fetch`), and are looked for where cargo
keeps it, or in the file that `WHATWG_URLS` names. Without them the test says so and is skipped; ours are always run.
"""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from odradek.urls import CrawlUrl, UrlRules, identify, identify_normalised, join

BASE = "https://www.shop.example/a/b/c?x=1#f"
AS_IT_IS = UrlRules(drop_query_parameters=(), sort_query=False)


def cases_at_hand() -> Path | None:
    named = os.environ.get("WHATWG_URLS")
    if named:
        return Path(named)
    kept = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    found = sorted(kept.glob("*/url-2*/tests/urltestdata.json")) if kept.exists() else []
    return found[-1] if found else None


def expected_of(case: dict[str, Any]) -> str | None:
    return None if case.get("failure") else str(case["href"])


def test_every_case_of_web_platform_tests_is_joined_as_the_standard_says() -> None:
    path = cases_at_hand()
    if path is None:
        pytest.skip("urltestdata.json is not here; name it with WHATWG_URLS, or get it with `cargo fetch` of `url`")
    cases = [case for case in json.loads(path.read_text("utf-8")) if isinstance(case, dict)]
    # A surrogate that stands alone cannot be said in UTF-8, which bodies are decoded to.
    sayable = [case for case in cases if case["input"].isascii() or _is_utf8(case["input"])]
    based = [case for case in sayable if case.get("base") not in (None, "about:blank")]

    wrong = [(case, join(case["base"], case["input"])) for case in based
             if join(case["base"], case["input"]) != expected_of(case)]  # fmt: skip

    hosts = [href for case in sayable if (href := expected_of(case)) and href.startswith(("http://", "https://"))]
    alone = [case for case in sayable if case.get("base") is None]
    wrong += [(case, identify(case["input"])) for case in alone if not _identified(case["input"], expected_of(case))]
    print(  # noqa: T201  (figures to read)
        f"{len(cases)} cases: {len(based)} joined, {len(alone)} alone, {len(hosts)} canonicalised, {len(wrong)} wrong"
    )
    assert wrong == []
    for href in hosts:
        _canonical_form_is_stable(href)


def _identified(given: str, href: str | None) -> bool:
    """As the standard says; a host that is ASCII already is taken as it stands, also when it is no valid Punycode."""
    found = identify(given, AS_IT_IS)
    if href is None:
        return found == "malformed" or "xn--" in given.lower()
    if not href.startswith(("http://", "https://")):
        return found == "scheme"
    if isinstance(found, str):  # ours to refuse
        return found in ("malformed", "too_long")
    return found.url == href.partition("#")[0]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _canonical_form_is_stable(href: str) -> None:
    """What the standard serialised stays as it is for fetching; its key is the key of its key."""
    found = identify_normalised(href, AS_IT_IS)
    if not isinstance(found, CrawlUrl):
        assert found in ("malformed", "too_long"), href
        return
    again = identify(found.canonical, AS_IT_IS)
    assert isinstance(again, CrawlUrl), href
    assert found.url == href.partition("#")[0]
    assert (again.canonical, again.fp, again.key) == (found.canonical, found.fp, found.key), href


PATHS = {
    "": "/a/b/c?x=1", "?": "/a/b/c?", "?y": "/a/b/c?y", "#g": "/a/b/c?x=1#g", "d": "/a/b/d", "./d": "/a/b/d",
    "../d": "/a/d", "../../d": "/d", "../../../../d": "/d", ".": "/a/b/", "..": "/a/", "/": "/", "/d/../e": "/e",
    "/d/./e": "/d/e", "/d/.": "/d/", "/d/..": "/", "d/": "/a/b/d/", "d?y=2": "/a/b/d?y=2", "d;p": "/a/b/d;p",
    "/%2e/d": "/d", "/%2E%2e/d": "/d", "/a%2Fb": "/a%2Fb", "//": None,
    "/d//e": "/d//e", "\\d": "/d", "d\\e": "/a/b/d/e",
    "/d e": "/d%20e", "/é": "/%C3%A9", "/%zz": "/%zz", "/%": "/%", "/\u2603": "/%E2%98%83", "/a|b": "/a|b",
    "/a{b}": "/a%7Bb%7D", '/a"b': "/a%22b", "/a<b>": "/a%3Cb%3E", "/a`b": "/a%60b", "/a^b": "/a%5Eb", "/~u": "/~u",
    "?q=é": "/a/b/c?q=%C3%A9", "?q=a b": "/a/b/c?q=a%20b", "?q='": "/a/b/c?q=%27", "?a=1&b=2": "/a/b/c?a=1&b=2",
    '?q="': "/a/b/c?q=%22", "?q=<": "/a/b/c?q=%3C", "?q={}": "/a/b/c?q={}", "?a?b": "/a/b/c?a?b", "/#a b": "/#a%20b",
    " /d ": "/d", "\t/d\n": "/d", "/d\n/e": "/d/e", "/d\t": "/d", "https:d": "/a/b/d", "https:/d": "/d",
}  # fmt: skip
"""Reference to what it means on `BASE`: path, query and fragment; None: it cannot be joined."""
HOSTS = {
    "//Other.Example/x": "https://other.example/x", "http:\\\\o.example\\x": "http://o.example/x",
    "HTTP://O.EXAMPLE": "http://o.example/", "http://o.example:80/": "http://o.example/",
    "https://o.example:443": "https://o.example/", "http://o.example:443/": "http://o.example:443/",
    "http://o.example:0080/": "http://o.example/", "http://o.example:/": "http://o.example/",
    "http://o.example:65536/": None, "http://o.example:x/": None, "http://b\u00fccher.example/": "http://xn--bcher-kva.example/",
    "http://B\u00dcCHER.example/": "http://xn--bcher-kva.example/", "http://o\u3002example/": "http://o.example/",
    "http://stra\u00dfe.example/": "http://xn--strae-oqa.example/", "http://%6f.example/": "http://o.example/",
    "http://o%20p.example/": None, "http://a b/": None, "http://[::1]/": "http://[::1]/", "http://[::1": None,
    "http://[1:0:0:0:0:0:0:1]/": "http://[1::1]/", "http://[::ffff:1.2.3.4]/": "http://[::ffff:102:304]/",
    "http://[g::1]/": None, "http://127.1/": "http://127.0.0.1/", "http://0x7f.1/": "http://127.0.0.1/",
    "http://2130706433/": "http://127.0.0.1/", "http://0177.0.0.1/": "http://127.0.0.1/", "http://256.1.1.1/": None,
    "http://1.2.3.4.5/": None, "http://1.2.3.4./": "http://1.2.3.4/", "http://o.example./": "http://o.example./",
    "http:///o.example/": "http://o.example/", "http:////o.example/": "http://o.example/", "http://": None,
    "http://?q": None, "http://u:p@o.example/": "http://u:p@o.example/", "http://u@o.example/": "http://u@o.example/",
    "mailto:a@b": "mailto:a@b", "javascript:void(0)": "javascript:void(0)", "data:text/html,x": "data:text/html,x",
    "tel:+49": "tel:+49", "ftp://o.example/": "ftp://o.example/", "blob:x": "blob:x", "about:blank": "about:blank",
    "http://o.example<x>/": None, "http://o|p/": None, "http://o^p/": None, "http://\u00ad/": None,
    "http://o_p.example/": "http://o_p.example/", "http://*.example/": "http://*.example/", "1http://x": "https://www.shop.example/a/b/1http://x",
}  # fmt: skip
"""Reference to the whole URL it means."""


@pytest.mark.parametrize(("reference", "tail"), PATHS.items())
def test_a_relative_reference_means_what_browsers_make_of_it(reference: str, tail: str | None) -> None:
    assert join(BASE, reference) == (None if tail is None else f"https://www.shop.example{tail}")


@pytest.mark.parametrize(("reference", "url"), HOSTS.items())
def test_an_absolute_reference_is_serialised_or_refused_as_browsers_do(reference: str, url: str | None) -> None:
    assert join(BASE, reference) == url


@pytest.mark.parametrize(
    "base",
    ["http://h.example", "http://h.example/", "http://h.example/a", "http://h.example/a/", "http://h.example/?q"],
)
@pytest.mark.parametrize("reference", ["", "x", "/x", "?x", "#x", "../x", "//o.example/x", "http://o.example/x"])
def test_joining_twice_is_joining_once(base: str, reference: str) -> None:
    joined = join(base, reference)

    assert joined is not None
    assert join(base, joined) == join(joined, joined) == joined


def key(url: str) -> str:
    found = identify(url)
    assert isinstance(found, CrawlUrl), (url, found)
    return found.canonical


SAME = [
    ("http://h.example", "http://h.example/", "http://h.example/#a", "http://h.example/?", "HTTP://H.example:80/"),
    ("http://h.example/a%7eb", "http://h.example/a~b", "http://h.example/%61~b", "http://h.example/./a~b"),
    ("http://h.example/%e9", "http://h.example/%E9"),
    ("http://h.example/?b=1&a=2", "http://h.example/?a=2&b=1", "http://h.example/?a=2&b=1&utm_source=x", "http://h.example/?&a=2&&b=1"),
    ("http://h.example./x", "http://h.example/x"),
    ("http://h.example/?q=%7e", "http://h.example/?q=~"),
    ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
    ("http://127.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://127.1/"),
    ("http://h.example/a b", "http://h.example/a%20b"),
]  # fmt: skip
DISTINCT = [
    ("http://h.example/Path", "http://h.example/path", "http://h.example/PATH"),
    ("http://h.example/a", "http://h.example/a/", "http://h.example/a//"),
    ("http://h.example/", "https://h.example/", "http://www.h.example/", "http://h.example:8080/"),
    ("http://h.example/a%2Fb", "http://h.example/a/b", "http://h.example/a%252Fb"),
    ("http://h.example/?a=1", "http://h.example/?A=1", "http://h.example/?a=2", "http://h.example/?a", "http://h.example/?a="),
    ("http://h.example/?a=1&a=2", "http://h.example/?a=2&a=1"),
    ("http://h.example/?q=a+b", "http://h.example/?q=a%20b", "http://h.example/?q=a%2Bb"),
    ("http://h.example/;p", "http://h.example/;P", "http://h.example/"),
    ("http://h.example/%C3%A9", "http://h.example/e%CC%81"),
    ("http://h.example/%%34%31", "http://h.example/%41"),
]  # fmt: skip


@pytest.mark.parametrize("urls", SAME)
def test_spellings_of_one_url_have_one_key(urls: tuple[str, ...]) -> None:
    assert len({key(url) for url in urls}) == 1


@pytest.mark.parametrize("urls", DISTINCT)
def test_different_urls_stay_distinct_also_where_only_the_case_of_the_path_differs(urls: tuple[str, ...]) -> None:
    keys = [key(url) for url in urls]

    assert len(set(keys)) == len(urls)
    for one, other in pairwise(urls):
        first, second = identify(one), identify(other)
        assert isinstance(first, CrawlUrl)
        assert isinstance(second, CrawlUrl)
        assert first.fp != second.fp
