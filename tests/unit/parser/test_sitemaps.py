"""What a sitemap names: pages one step from the seeds, further sitemaps for the frontier."""

import pytest

from odradek_parser.core.facts import sitemap_found

from .pages import a_reading, a_request, a_spec, forwarded

INDEX = "<sitemapindex>{entries}</sitemapindex>"
HOST = "https://books.example"


def an_index(*urls: str) -> str:
    return INDEX.format(entries="".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls))


def named(html: str, **more: object) -> list[str]:
    request = a_request(f"{HOST}/map.xml", **({"kind": "sitemap"} | more))
    return [url.url for url in a_reading(html, request=request, content_type="application/xml").sitemaps]


def test_an_index_names_sitemaps_of_its_own_site_and_of_hosts_of_the_job() -> None:
    urls = [f"{HOST}/a.xml.gz", "https://cdn.books.example/b.xml", "https://elsewhere.example/c.xml", "ftp://x/", HOST]
    assert named(an_index(*urls)) == [*urls[:2], f"{HOST}/"]


def test_an_index_that_names_itself_or_another_twice_names_each_once_and_not_itself() -> None:
    assert named(an_index(f"{HOST}/map.xml", f"{HOST}/a.xml", f"{HOST}/a.xml")) == [f"{HOST}/a.xml"]


@pytest.mark.parametrize(("depth", "count"), [(0, 1), (2, 1), (3, 0)])
def test_indexes_in_indexes_end(depth: int, count: int) -> None:
    assert len(named(an_index(f"{HOST}/a.xml"), depth=depth)) == count


def test_a_named_sitemap_is_kept_under_the_run_of_sitemaps() -> None:
    request = a_request(f"{HOST}/map.xml", kind="sitemap", run=3, depth=1, site="books.example")
    reading = a_reading(an_index(f"{HOST}/a.xml"), request=request, content_type="application/xml")
    fact = sitemap_found(request, reading.sitemaps[0], reading.url)
    assert (fact.run, fact.depth, fact.site, fact.via, fact.url) == (
        -3, 2, "books.example", f"{HOST}/map.xml", f"{HOST}/a.xml",
    )  # fmt: skip


URLSET = f"<urlset><url><loc>{HOST}/p</loc><lastmod>2024-05-01</lastmod></url></urlset>"


def test_a_seed_that_is_a_sitemap_is_read_as_one_also_when_links_are_not_followed() -> None:
    spec = a_spec(scope={"follow_links": False})
    reading = a_reading(URLSET, spec=spec, request=a_request(seed=True), content_type="text/xml")
    assert (forwarded(reading), reading.kept) == ([f"{HOST}/p"], True)
    assert [(target.depth, target.lastmod) for target in reading.targets] == [(1, "2024-05-01")]
    index = a_reading(an_index(f"{HOST}/a.xml"), spec=spec, request=a_request(seed=True), content_type="text/xml")
    assert [url.url for url in index.sitemaps] == [f"{HOST}/a.xml"]


def test_a_seed_is_no_sitemap_for_a_job_without_sitemaps() -> None:
    spec = a_spec(scope={"follow_links": False, "sitemaps": False})
    assert forwarded(a_reading(URLSET, spec=spec, request=a_request(seed=True), content_type="text/xml")) == []
