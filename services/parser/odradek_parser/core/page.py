"""What a page says of itself and where it points: read in one pass over the tree."""

import re
from collections.abc import Container
from typing import Any, Literal

import msgspec

from odradek.urls import join
from odradek_parser.core.trees import Exhausted, LexborTree, Node

Element = Literal["a", "area", "link", "iframe", "frame", "refresh", "header", "feed", "sitemap"]

_QUERY = "a[href],area[href],link[href],iframe[src],frame[src],meta,base[href],title,h1,html[lang]"
LINK_RELATIONS = frozenset(("next", "prev", "canonical", "alternate"))
"""Relations of `link` elements and headers that lead to pages."""
_REFRESH = re.compile(r"\s*(\d*)(?:\.\d*)?\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?\s*([^\"'>]*)", re.IGNORECASE)
_REDIRECTING_S = 30
"""A refresh after a longer time is meant for readers who stay; it is a link like any other."""
MAX_TEXT = 10_000
"""Characters of a title, description or heading that are kept."""


class RawLink(msgspec.Struct, frozen=True, gc=False):
    """A reference as it stands in the page."""

    href: str
    element: Element
    rel: str = ""
    """Lower case."""
    title: str | None = None
    lastmod: str | None = None


class PageFacts(msgspec.Struct):
    """What was read off a page."""

    title: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    """Absolute."""
    h1: str | None = None
    base_url: str = ""
    robots: frozenset[str] = frozenset()
    """Directives of meta elements for all robots, lower case."""
    refresh: str | None = None
    """Where a meta refresh leads; absolute."""
    properties: list[tuple[str, str]] = []
    """Meta elements with a `property` or `name` that has a prefix, such as og:title."""
    links: list[RawLink] = []


def read_page(tree: LexborTree, url: str, *, products: Container[str] = (), language: str | None = None) -> PageFacts:
    """The facts of an HTML page that came from `url`.

    `products` are the names by which robots meta elements may speak to us; `language` is from the HTTP header.
    """
    facts = PageFacts(base_url=url, language=language)
    links = facts.links
    head = _Head()
    for node in tree.parser.css(_QUERY):
        tag: Any = node.tag
        if tag == "a" or tag == "area":  # noqa: PLR1714  (forty times a page: twice as fast as a set)
            attributes = node.attributes
            href = attributes["href"]
            if href:
                rel = attributes.get("rel")
                links.append(RawLink(href, tag, rel.lower() if rel else ""))
        else:
            head.take(facts, tree, node, tag)
    head.settle(facts, products)
    return facts


class _Head:
    """What stands once or twice in a page; a base may come after what it applies to."""

    def __init__(self) -> None:
        self.metas: list[dict[str, str | None]] = []
        self.canonical: str | None = None
        self.base: str | None = None

    def take(self, facts: PageFacts, tree: LexborTree, node: Node, tag: str) -> None:
        attributes: dict[str, str | None] = node.attributes
        if tag == "meta":
            self.metas.append(attributes)
        elif tag == "link":
            self._link(facts, attributes)
        elif tag == "title":
            if facts.title is None and node.parent.tag != "svg":
                facts.title = _heading(tree, node)
        elif tag == "h1":
            facts.h1 = facts.h1 or _heading(tree, node)
        elif tag == "base":
            self.base = self.base or attributes["href"]
        elif tag == "html":
            facts.language = (attributes["lang"] or "").strip() or facts.language
        elif attributes["src"]:
            facts.links.append(RawLink(attributes["src"], "frame" if tag == "frame" else "iframe"))

    def settle(self, facts: PageFacts, products: Container[str]) -> None:
        if self.base is not None:
            joined = join(facts.base_url, self.base)
            if joined is not None and joined.startswith(("http://", "https://")):
                facts.base_url = joined
        if self.canonical is not None:
            facts.canonical = join(facts.base_url, self.canonical)
        _read_metas(facts, self.metas, products)

    def _link(self, facts: PageFacts, attributes: dict[str, str | None]) -> None:
        rel, href = (attributes.get("rel") or "").lower(), attributes["href"]
        relations = set(rel.split())
        if href and relations & LINK_RELATIONS and "stylesheet" not in relations:
            facts.links.append(RawLink(href, "link", rel))
            if self.canonical is None and "canonical" in relations:
                self.canonical = href


def _heading(tree: LexborTree, node: Node) -> str | None:
    try:
        return tree.text(node)[:MAX_TEXT] or None
    except Exhausted:
        return None


def _read_metas(facts: PageFacts, metas: list[dict[str, str | None]], products: Container[str]) -> None:
    directives: set[str] = set()
    for meta in metas:
        content = meta.get("content")
        if not content:
            continue
        name = (meta.get("name") or "").strip().lower()
        named = (meta.get("property") or "").strip() or name
        if name == "description":
            facts.description = facts.description or " ".join(content.split())[:MAX_TEXT] or None
        elif name == "robots" or name in products:
            directives.update(re.split(r"[\s,]+", content.lower()))
        elif ":" in named:
            facts.properties.append((named, content))
        elif (meta.get("http-equiv") or "").strip().lower() == "refresh":
            _read_refresh(facts, content)
    facts.robots = frozenset(directives)


def _read_refresh(facts: PageFacts, content: str) -> None:
    target = refresh_target(content)
    if target is None:
        return
    href, delay_s = target
    if delay_s <= _REDIRECTING_S and facts.refresh is None:
        facts.refresh = join(facts.base_url, href)
    else:
        facts.links.append(RawLink(href, "refresh"))


def refresh_target(content: str) -> tuple[str, int] | None:
    """Where a refresh (meta element or header) leads and after how many seconds; None: only to itself."""
    found = _REFRESH.match(content)
    if found is None or not found[2].strip():
        return None
    return found[2].strip(), int(found[1] or 0)
