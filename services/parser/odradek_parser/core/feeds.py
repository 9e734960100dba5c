"""Sitemaps (sitemaps.org 0.9: index, urlset, text; also gzipped), RSS and Atom: XML that is made of links."""

import zlib
from dataclasses import dataclass, field

from lxml import etree

from odradek_parser.core.page import RawLink

MAX_SITEMAP_BYTES = 50 * 1024 * 1024
"""Of one sitemap, as its standard says; what is beyond is cut."""
MAX_LOCATIONS = 50_000
"""Of one sitemap, as its standard says."""
GZIP = b"\x1f\x8b"
"""How gzip begins (RFC 1952)."""


@dataclass(slots=True)
class Feed:
    """What a feed or sitemap points to."""

    kind: str
    """`sitemap`, `sitemapindex`, `rss`, `atom`, or `` for XML of another kind."""
    links: list[RawLink] = field(default_factory=list)
    title: str | None = None
    truncated: bool = False


def unpacked(body: bytes, limit: int = MAX_SITEMAP_BYTES) -> bytes:
    """A body without its gzip wrapper, at most `limit` bytes of it; other bodies as they are."""
    if not body.startswith(GZIP):
        return body
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, limit)
    except zlib.error:
        return b""


def read_feed(text: str) -> Feed:
    """The links of an XML document, whatever encoding it declares; an empty kind when it is no feed.

    Never raises for what the document holds.

    Entities are not expanded, nothing is loaded, and an element costs nothing once it was read.
    """
    feed, body = Feed(""), text.encode("utf-8", "replace")
    parser = etree.XMLPullParser(
        ("start", "end"), recover=True, no_network=True, resolve_entities=False, huge_tree=False, load_dtd=False,
        remove_comments=True, remove_pis=True, encoding="utf-8",
    )  # fmt: skip
    try:
        for start in range(0, len(body), 65_536):
            parser.feed(body[start : start + 65_536])
            for event, element in parser.read_events():
                _read(feed, event, element)
            if len(feed.links) >= MAX_LOCATIONS or (not feed.kind and start > 0):
                feed.truncated = bool(feed.kind)
                break
    except etree.LxmlError:
        feed.truncated = True
    feed.links = feed.links[:MAX_LOCATIONS]
    return feed


def read_text_sitemap(text: str) -> Feed:
    """A sitemap of one URL a line."""
    lines = [line.strip() for line in text.splitlines()[:MAX_LOCATIONS]]
    return Feed("sitemap", [RawLink(line, "sitemap") for line in lines if line.startswith(("http://", "https://"))])


_ROOTS = {"urlset": "sitemap", "sitemapindex": "sitemapindex", "rss": "rss", "RDF": "rss", "feed": "atom"}


def _read(feed: Feed, event: str, element: "etree._Element") -> None:
    name = _local(element.tag)
    if event == "start":
        if element.getparent() is None:
            feed.kind = _ROOTS.get(name, "")
        return
    if feed.kind.startswith("sitemap") and name in ("url", "sitemap"):
        _location(feed, element)
    elif feed.kind == "atom" and name == "link":
        if element.get("rel", "alternate") in ("alternate", "next", "prev", "related") and element.get("href"):
            feed.links.append(RawLink(element.get("href"), "feed"))
    elif feed.kind == "rss" and name == "link":
        href = (element.text or "").strip() or element.get("href", "")
        if href:
            feed.links.append(RawLink(href, "feed"))
    elif feed.kind and name == "title" and feed.title is None:
        feed.title = " ".join((element.text or "").split()) or None
    if name in ("url", "sitemap", "item", "entry"):
        element.clear(keep_tail=False)


def _location(feed: Feed, element: "etree._Element") -> None:
    parts = {_local(child.tag): (child.text or "").strip() for child in element if isinstance(child.tag, str)}
    if parts.get("loc"):
        feed.links.append(RawLink(parts["loc"], "sitemap", lastmod=parts.get("lastmod") or None))


def _local(tag: object) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
