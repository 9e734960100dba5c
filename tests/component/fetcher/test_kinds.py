"""Conditional requests, robots.txt and sitemaps, from a site that knows HTTP."""

import gzip
from collections.abc import AsyncIterator

import pytest
from tests.component.fetcher.harness import a_fetching

from odradek.testing.hostile import HostileSite, Talk

ETAG = b'"version-7"'


async def _conditional(talk: Talk) -> None:
    if b"if-none-match: " + ETAG in talk.head.lower():
        await talk.say(b"HTTP/1.1 304 Not Modified\r\nETag: " + ETAG + b"\r\n\r\n")
    else:
        await talk.page(b"ETag: " + ETAG, b"X-Robots-Tag: noindex", b"X-Robots-Tag: nofollow", b"Server: unread")


async def _posted(talk: Talk) -> None:
    if talk.head.startswith(b"HEAD"):
        await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 70000\r\n\r\n")
    else:
        await talk.page(body=talk.head.partition(b"\r\n")[0])


async def _robots(talk: Talk) -> None:
    hops = int(talk.path.rpartition("/")[2])
    if hops:
        await talk.page(b"Location: /robots/%d" % (hops - 1), status=b"301 Moved Permanently")
    else:
        await talk.page(
            b"Content-Type: application/octet-stream",
            b"Cache-Control: public, max-age=600",
            body=b"\xef\xbb\xbfAllow: \xff",
        )


async def _large_robots(talk: Talk) -> None:
    await talk.page(body=b"# " + b"x" * 1_000_000)


async def _broken_robots(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\n")
    await talk.close()


async def _sitemap(talk: Talk) -> None:
    if talk.path.endswith("moved"):
        await talk.page(b"Location: /sitemap/here", status=b"302 Found")
    else:
        await talk.page(b"Content-Type: application/x-gzip", body=gzip.compress(b"<urlset></urlset>"))


BEHAVIOURS = {
    "conditional": _conditional,
    "posted": _posted,
    "robots": _robots,
    "large-robots": _large_robots,
    "broken-robots": _broken_robots,
    "sitemap": _sitemap,
}


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    async with HostileSite(BEHAVIOURS) as site:
        yield site


async def test_a_page_that_has_not_changed_is_its_own_outcome(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        first = await fetch(site.url("conditional"))
        again = await fetch(site.url("conditional"), etag=first.page.headers["etag"])
    assert (again.page.outcome, again.page.status, again.body) == ("not_modified", 304, None)


async def test_only_headers_that_later_stages_read_travel(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        page = (await fetch(site.url("conditional"))).page
    assert page.headers == {"etag": ETAG.decode(), "x-robots-tag": "noindex\nnofollow"}


async def test_the_jobs_method_is_used_for_pages(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        posted = await fetch(site.url("posted"), {"method": "POST", "body": ""})
        head = await fetch(site.url("posted"), {"method": "HEAD"})
    assert (posted.body, head.body, head.page.outcome) == (b"POST /posted HTTP/1.1", b"", "fetched")


async def test_robots_are_read_after_five_redirects_whatever_their_type(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        fact = (await fetch(site.url("robots/5"), kind="robots")).robots
    assert fact is not None
    assert (fact.status, fact.text, fact.max_age_s, fact.reason) == (200, "Allow: \ufffd", 600, None)
    assert fact.origin == f"http://127.0.0.1:{site.port}"


async def test_robots_behind_six_redirects_are_an_answer_without_text(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        fact = (await fetch(site.url("robots/6"), kind="robots")).robots
    assert fact is not None
    assert (fact.status, fact.text, fact.reason) == (301, None, "redirect_limit")


async def test_of_a_large_robots_file_500_kib_are_read(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        fact = (await fetch(site.url("large-robots"), kind="robots")).robots
    assert fact is not None
    assert len(fact.text or "") == 500 * 1024


async def test_robots_that_break_off_are_no_answer(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        fact = (await fetch(site.url("broken-robots"), kind="robots")).robots
    assert fact is not None
    assert (fact.status, fact.text, fact.reason) == (None, None, "reset")


async def test_a_sitemap_is_followed_and_unpacked(site: HostileSite) -> None:
    async with a_fetching() as fetch:
        result = await fetch(site.url("sitemap/moved"), kind="sitemap")
    assert (result.body, result.page.final_url) == (b"<urlset></urlset>", site.url("sitemap/here"))
