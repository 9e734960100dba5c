"""What a URL is: canonical form, fingerprint, politeness key, partition."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.urls import (
    MAX_URL_LENGTH,
    CrawlUrl,
    UrlRules,
    fingerprint,
    fingerprint_ranges,
    identify,
    identify_normalised,
    join,
    origin,
    partition_of,
    politeness_key,
)

KEEP_ALL = UrlRules(drop_query_parameters=(), sort_query=False)


def canonical(url: str, rules: UrlRules | None = None) -> str:
    found = identify(url) if rules is None else identify(url, rules)
    assert isinstance(found, CrawlUrl), (url, found)
    return found.canonical


def test_a_url_knows_everything_that_follows_from_it() -> None:
    assert identify("HTTPS://WWW.Books.co.uk.:8443/a/../B?utm_source=x&z=1&a=2#top") == CrawlUrl(
        url="https://www.books.co.uk.:8443/B?utm_source=x&z=1&a=2",
        canonical="https://www.books.co.uk:8443/B?a=2&z=1",
        fp=fingerprint("https://www.books.co.uk:8443/B?a=2&z=1"),
        key="books.co.uk",
        host="www.books.co.uk",
        port=8443,
        scheme="https",
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://books.example", "http://books.example/"),
        ("http://books.example/#a", "http://books.example/"),
        ("http://books.example/?", "http://books.example/"),
        ("http://books.example/?#", "http://books.example/"),
        ("http://books.example/?&&", "http://books.example/"),
        ("http://books.example/?utm_source=a&gclid=b&fbclid=c", "http://books.example/"),
        ("http://books.example/?utm=a", "http://books.example/?utm=a"),
        ("http://books.example/?utm%5Fsource=a", "http://books.example/"),
        ("http://books.example/?b=1&a=2&b=0", "http://books.example/?a=2&b=1&b=0"),
        ("http://books.example/?b&a=", "http://books.example/?a=&b"),
        ("http://books.example/?a=b=c", "http://books.example/?a=b=c"),
        ("http://books.example/?q=%c3%a9+%7e", "http://books.example/?q=%C3%A9+~"),
        ("http://books.example/?q=a%26b", "http://books.example/?q=a%26b"),
        ("http://books.example:80/", "http://books.example/"),
        ("https://books.example:443/", "https://books.example/"),
        ("http://books.example:443/", "http://books.example:443/"),
        ("http://books.example./", "http://books.example/"),
        ("http://BOOKS.example/Path", "http://books.example/Path"),
        ("http://books.example/%7Euser/%41%2d%2e%5f", "http://books.example/~user/A-._"),
        ("http://books.example/a%2fb", "http://books.example/a%2Fb"),
        ("http://books.example/é", "http://books.example/%C3%A9"),
        ("http://books.example/a b", "http://books.example/a%20b"),
        ("http://books.example/100%", "http://books.example/100%25"),
        ("http://books.example/%zz", "http://books.example/%25zz"),
        ("http://books.example/%%34%31", "http://books.example/%2541"),
        ("http://books.example/a/./b/../c", "http://books.example/a/c"),
        ("http://books.example/a/%2e%2E/c", "http://books.example/c"),
        ("http://books.example//a//", "http://books.example//a//"),
        ("http://books.example\\a\\b", "http://books.example/a/b"),
        ("  http://books.example/\n", "http://books.example/"),
        ("http:books.example/a", "http://books.example/a"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[::FFFF:7f00:1]:8080/", "http://[::ffff:7f00:1]:8080/"),
        ("http://@books.example/", "http://books.example/"),
    ],
)
def test_spellings_of_one_url_have_one_canonical_form(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    "pair",
    [
        ("http://books.example/", "https://books.example/"),
        ("http://books.example/", "http://www.books.example/"),
        ("http://books.example/", "http://books.example:8080/"),
        ("http://books.example/a", "http://books.example/a/"),
        ("http://books.example/a", "http://books.example/A"),
        ("http://books.example/a/b", "http://books.example/a%2Fb"),
        ("http://books.example/?a=1&a=2", "http://books.example/?a=2&a=1"),
    ],
)
def test_what_may_differ_stays_distinct(pair: tuple[str, str]) -> None:
    one, other = (identify(url) for url in pair)
    assert isinstance(one, CrawlUrl)
    assert isinstance(other, CrawlUrl)
    assert one.fp != other.fp


def test_a_job_may_keep_the_order_and_every_parameter() -> None:
    assert canonical("http://books.example/?z=1&utm_a=2&a=3", KEEP_ALL) == "http://books.example/?z=1&utm_a=2&a=3"


def test_dropped_parameters_are_patterns_on_the_name_alone() -> None:
    rules = UrlRules(drop_query_parameters=("s?d",), sort_query=True)
    assert canonical("http://books.example/?sid=1&SID=2&side=3&x=sid", rules) == (
        "http://books.example/?SID=2&side=3&x=sid"
    )


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://books.example/", "scheme"),
        ("mailto:a@books.example", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("data:text/html," + "x" * 3000, "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("books.example", "malformed"),
        ("", "malformed"),
        ("http://", "malformed"),
        ("http://a b/", "malformed"),
        ("http://books.example:99999/", "malformed"),
        ("http://user:secret@books.example/", "malformed"),
        ("http://user@books.example/", "malformed"),
        ("http://books.example../", "malformed"),
        ("http://./", "malformed"),
        ("http://[::1/", "malformed"),
        ("http://1.2.3.4.5/", "malformed"),
        ("http://books.example/\ud800", "malformed"),
        ("http://books.example/" + "a" * MAX_URL_LENGTH, "too_long"),
    ],
)
def test_what_cannot_be_crawled_is_refused_with_a_reason(url: str, reason: str) -> None:
    assert identify(url) == reason


def test_the_longest_url_passes_and_its_fragment_does_not_count() -> None:
    longest = "http://books.example/".ljust(MAX_URL_LENGTH, "a")
    assert canonical(longest + "#" + "b" * 500) == longest
    assert identify(longest + "a") == "too_long"


@pytest.mark.parametrize(
    ("base", "href", "expected"),
    [
        ("http://books.example/a/b?q", "c", "http://books.example/a/c"),
        ("http://books.example/a/b?q", "?r", "http://books.example/a/b?r"),
        ("http://books.example/a/b?q", "#f", "http://books.example/a/b?q#f"),
        ("http://books.example/a/b", "", "http://books.example/a/b"),
        ("http://books.example/a/b/", "../../../c", "http://books.example/c"),
        ("http://books.example/a/", "./%2e%2e/c", "http://books.example/c"),
        ("https://books.example/a/", "//other.example/c", "https://other.example/c"),
        ("https://books.example/a/", "\n /x\ty ", "https://books.example/xy"),
        ("https://books.example/a/", "https:c", "https://books.example/a/c"),
        ("https://books.example/a/", "http:c", "http://c/"),
        ("https://books.example/", "mailto:a@b", "mailto:a@b"),
        ("https://books.example/", "//bücher.example:443", "https://xn--bcher-kva.example/"),
        ("https://books.example/", "https://a b/", None),
        ("https://books.example/", "//[", None),
        ("https://books.example/", "\ud800", None),
        ("no base", "a", None),
    ],
)
def test_a_link_means_what_a_browser_makes_of_it(base: str, href: str, expected: str | None) -> None:
    assert join(base, href) == expected


HOSTS = st.sampled_from(["books.example", "WWW.books.co.uk.", "[::1]", "0x7f.1", "bücher.example", "a..b", "x.", "x.."])
PATHS = st.text(st.sampled_from(list("aB/.~%234567eEfF?&=+;:@\\ é'\"|\t#")), max_size=30)
URLS = st.builds(
    "{}://{}{}/{}".format, st.sampled_from(["http", "https"]), HOSTS, st.sampled_from(["", ":80", ":1"]), PATHS
)


@given(URLS, st.sampled_from([UrlRules(), KEEP_ALL]))
def test_the_canonical_form_of_a_canonical_form_is_itself(url: str, rules: UrlRules) -> None:
    once = identify(url, rules)
    if not isinstance(once, CrawlUrl) or len(once.canonical) > MAX_URL_LENGTH:
        return
    twice = identify(once.canonical, rules)
    assert isinstance(twice, CrawlUrl)
    assert (twice.canonical, twice.fp, twice.key, twice.host) == (once.canonical, once.fp, once.key, once.host)


@given(URLS)
def test_what_is_fetched_identifies_as_what_was_given(url: str) -> None:
    found = identify(url)
    if isinstance(found, CrawlUrl):
        assert identify(found.url) == found
        assert identify_normalised(found.url) == found


@given(st.text(max_size=60))
def test_no_text_makes_it_raise(text: str) -> None:
    joined = join("https://books.example/", text)
    assert joined is None or isinstance(identify_normalised(joined), CrawlUrl | str)
    assert isinstance(identify(text), CrawlUrl | str)


def test_method_and_body_are_part_of_the_fingerprint() -> None:
    url = "http://books.example/"
    several = {
        fingerprint(url),
        fingerprint(url, "POST"),
        fingerprint(url, "POST", b"a"),
        fingerprint(url, "POST", b"b"),
    }
    assert {len(each) for each in several} == {32}
    assert len(several) == 4


def test_a_fingerprint_is_the_same_in_every_release_of_these_rules() -> None:
    assert fingerprint("https://books.example/") == "15d850c2cea1cdacb76f24d77c5a4c86"


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("www.books.example.com", "example.com"),
        ("example.com", "example.com"),
        ("a.b.books.co.uk", "books.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("github.io", "github.io"),
        ("shop.xn--55qx5d.cn", "shop.xn--55qx5d.cn"),
        ("www.shop.xn--55qx5d.cn", "shop.xn--55qx5d.cn"),
        ("localhost", "localhost"),
        ("intranet", "intranet"),
        ("a.b.unlisted", "b.unlisted"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_the_politeness_key_is_the_registered_domain(host: str, key: str) -> None:
    assert politeness_key(host) == key


def test_the_origin_leaves_the_default_port_out() -> None:
    urls = ["http://books.example:80/a", "https://books.example:8443/", "http://[::1]:81/"]
    origins = [origin(found) for found in map(identify, urls) if isinstance(found, CrawlUrl)]
    assert origins == ["http://books.example", "https://books.example:8443", "http://[::1]:81"]


def test_a_key_has_the_partition_that_librdkafka_would_give_it() -> None:
    assert [partition_of(key, 12) for key in ("123456789", "books.example", "é")] == [0xCBF43926 % 12, 6, 2]


@pytest.mark.parametrize("urls", [0, 1, 2000, 2001, 9999, 2_000_000, 10**9])
def test_ranges_of_fingerprints_leave_none_out_and_none_is_in_two(urls: int) -> None:
    ranges = fingerprint_ranges(urls, 2000)

    assert (ranges[0][0], ranges[-1][1]) == ("", "")
    assert all(end == first != "" for (_, end), (first, _) in pairwise(ranges))
    assert len(ranges) == min(65_536, max(1, -(-urls // 2000)))
