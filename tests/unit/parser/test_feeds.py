import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.parser.pages import a_reading, a_request, a_spec, forwarded

from odradek_parser.core.charset import decoded
from odradek_parser.core.feeds import Feed, read_feed, read_text_sitemap, unpacked
from odradek_parser.core.page import RawLink

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc> https://books.example/1 </loc><lastmod>2024-05-01</lastmod></url><url><loc>https://books.example/2</loc></url>
<url><lastmod>x</lastmod></url></urlset>"""

ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><link rel="self" href="/f"/>
<entry><link href="/e"/><link rel="edit" href="/no"/></entry></feed>"""


def test_a_sitemap_is_its_locations_with_their_dates() -> None:
    assert read_feed(SITEMAP.decode()) == Feed("sitemap", [
        RawLink("https://books.example/1", "sitemap", lastmod="2024-05-01"),
        RawLink("https://books.example/2", "sitemap"),
    ])  # fmt: skip


def test_an_index_is_its_sitemaps() -> None:
    index = b"<sitemapindex><sitemap><loc>https://books.example/s1.xml.gz</loc></sitemap></sitemapindex>"

    assert read_feed(index.decode()) == Feed("sitemapindex", [RawLink("https://books.example/s1.xml.gz", "sitemap")])


@pytest.mark.parametrize(
    ("xml", "feed"),
    [
        (b"<rss><channel><title>News</title><link>/</link><item><title>x</title><link>/a</link></item></channel></rss>",
         Feed("rss", [RawLink("/", "feed"), RawLink("/a", "feed")], "News")),
        (ATOM, Feed("atom", [RawLink("/e", "feed")], "A")),
        (b'<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><item><link>/a</link></item></rdf:RDF>',
         Feed("rss", [RawLink("/a", "feed")])),
        (b"<list><link>/a</link></list>", Feed("")),
        (b"no xml", Feed("")),
        (b"", Feed("")),
    ],
)  # fmt: skip
def test_a_feed_is_its_links(xml: bytes, feed: Feed) -> None:
    assert read_feed(xml.decode()) == feed


def test_a_text_sitemap_is_one_url_a_line() -> None:
    assert read_text_sitemap("https://a.example/\r\n\nnot a url\nhttp://a.example/2").links == [
        RawLink("https://a.example/", "sitemap"),
        RawLink("http://a.example/2", "sitemap"),
    ]


def test_entities_are_not_expanded_and_nothing_is_loaded() -> None:
    bomb = b'<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://x/&a;&b;</loc></url></urlset>'

    assert read_feed(bomb.decode()).links in ([RawLink("http://x/", "sitemap")], [])


def test_what_grows_too_large_is_cut() -> None:
    assert len(unpacked(gzip.compress(b"x" * 10_000_000), limit=1000)) == 1000
    assert (unpacked(b"plain"), unpacked(b"\x1f\x8bbroken")) == (b"plain", b"")
    many = b"<urlset>" + b"<url><loc>http://a/</loc></url>" * 60_000 + b"</urlset>"
    feed = read_feed(many.decode())
    assert (len(feed.links), feed.truncated) == (50_000, True)


def test_a_sitemap_request_gives_links_one_step_from_the_seeds_and_no_page() -> None:
    reading = a_reading(gzip.compress(SITEMAP), request=a_request(kind="sitemap"), content_type="application/gzip")

    assert forwarded(reading) == ["https://books.example/1", "https://books.example/2"]
    assert {target.depth for target in reading.targets} == {1}
    assert (reading.kept, reading.records) == (False, [])


def test_a_feed_that_is_a_page_is_kept_and_followed() -> None:
    rss = b"<?xml version='1.0'?><rss><channel><title>News</title><item><link>/a</link></item></channel></rss>"

    reading = a_reading(rss, content_type="application/rss+xml", spec=a_spec())

    assert (forwarded(reading), reading.kept) == (["https://books.example/a"], True)
    assert [record.data["title"] for record in reading.records] == ["News"]


@pytest.mark.parametrize("encoding", ["iso-2022-jp", "gb18030", "shift_jis", "utf-16", "windows-1251"])
def test_a_feed_is_read_in_any_encoding_of_the_web(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><rss><channel><item><link>/a</link></item></channel></rss>'

    reading = a_reading(text.encode(encoding), content_type="application/rss+xml", charset=encoding)

    assert forwarded(reading) == ["https://books.example/a"]


@given(st.binary(max_size=300) | st.text("<urlsetloc>/&;![CDATA]?xml ", max_size=200).map(str.encode))
def test_any_bytes_are_read_without_complaint(body: bytes) -> None:
    assert isinstance(read_feed(decoded(unpacked(body)).text), Feed)
