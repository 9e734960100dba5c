"""One page: its outcome, its links, its records. Pure; what it decides is told as a value."""

from collections.abc import Container

import msgspec

from odradek.agents import product_tokens
from odradek.contracts import FetchRequest, Hop, PageMeta
from odradek.scope import Scope
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify, join
from odradek_parser.core.charset import Text, decoded
from odradek_parser.core.documents import Document, kind_of
from odradek_parser.core.feeds import GZIP, Feed, read_feed, read_text_sitemap, unpacked
from odradek_parser.core.headers import header_directives, header_links
from odradek_parser.core.links import Sieve, Sifted
from odradek_parser.core.novelty import content_of
from odradek_parser.core.page import LINK_RELATIONS, PageFacts, RawLink, read_page, refresh_target
from odradek_parser.core.rules import Extraction, Page, Record, compile_rules
from odradek_parser.core.values import Setting

MAX_PAGE_BYTES = 15 * 1024 * 1024
"""Of a page that is gzip by itself, unpacked: as much as a page without it may have."""
MOST_HOPS = 10
"""Redirects in a row (rule K)."""
ROBOTS_OBEYED = frozenset(("noindex", "nofollow", "none"))
SITEMAP_DEPTH = 1
"""Of what a sitemap names: one step from the seeds."""
MOST_NESTED = 3
"""Indexes in indexes that are still read; their standard knows none."""
BY_NAME = (None, "extension", "excluded")
"""Refusals that look at a page's name and say nothing about a sitemap's host."""


class Target(msgspec.Struct, frozen=True):
    """A URL to be told to the frontier."""

    url: CrawlUrl
    depth: int
    seed: bool = False
    chain: tuple[Hop, ...] = ()
    site: str | None = None
    lastmod: str | None = None
    """What a sitemap says of its last change."""


class Reading(msgspec.Struct):
    """What became of one page."""

    kept: bool = False
    targets: list[Target] = []
    sifted: Sifted = msgspec.field(default_factory=Sifted)
    records: list[Record] = []
    url: str = ""
    """Where the body came from."""
    text: Text | None = None
    noindex: bool = False
    robots: frozenset[str] = frozenset()
    """Directives for robots that were obeyed."""
    content: str | None = None
    """What a page shows, in short (see `novelty`)."""
    sitemaps: list[CrawlUrl] = []
    """That an index names, for the frontier to ask for."""


class Reader:
    """All that one version of a job says about reading pages, compiled once."""

    def __init__(
        self,
        spec: JobSpecification,
        *,
        product: str = "",
        extraction: Extraction | None = None,
        rules: str | None = None,
    ) -> None:
        """`rules`: of a recurring job, what it says of reading pages, in short."""
        self.spec = spec
        self.rules = rules
        self.scope = Scope.of(spec)
        self.sieve = Sieve(spec, self.scope)
        self.extraction = compile_rules(spec) if extraction is None else extraction
        self._products = product_tokens(spec, product)
        self._respects = spec.politeness.respect_robots
        self._tells_content = spec.traps.quarantine_after is not None
        self._takes_sitemaps = spec.scope.sitemaps
        self._pages_rest = spec.schedule is not None and spec.schedule.adaptive is not None

    def read(self, meta: PageMeta, body: bytes | None, known: Container[str]) -> Reading:
        """Read a page. `known` holds fingerprints of links that need not be forwarded again."""
        reading = Reading(url=meta.final_url or meta.request.url)
        if meta.outcome == "redirected" and meta.location is not None:
            hop = Hop(url=meta.request.url, status=meta.status or 0)
            self._redirect(reading, meta, meta.location, hop, known)
        if meta.outcome == "not_modified":
            reading.kept = meta.request.kind == "page"
        if meta.outcome != "fetched":
            return reading
        body = body or b""
        reading.kept = meta.request.kind == "page"
        if meta.request.kind == "sitemap":
            self._sitemap(reading, meta, body, known)
        else:
            self._page(reading, meta, body, known)
        return reading

    def read_again(self, meta: PageMeta, body: bytes) -> Reading:
        """The records of a page that was kept, and nothing else: its links were told when it was read first."""
        reading = Reading(kept=True, url=meta.final_url or meta.request.url)
        page = self._look(reading, meta, body, None)
        if not reading.noindex:
            reading.records = list(self.extraction.records(page))
        return reading

    def look(self, meta: PageMeta, body: bytes) -> tuple[Reading, Page]:
        """As `read` of a page that was kept, without the records; also the page as rules see it."""
        reading = Reading(kept=True, url=meta.final_url or meta.request.url)
        return reading, self._look(reading, meta, body, frozenset())

    def _page(self, reading: Reading, meta: PageMeta, body: bytes, known: Container[str]) -> None:
        page = self._look(reading, meta, body, known)
        if not reading.noindex:
            reading.records = list(self.extraction.records(page))

    def _look(self, reading: Reading, meta: PageMeta, body: bytes, known: Container[str] | None) -> Page:
        """The page as rules see it; its links are sifted unless `known` is None."""
        body = unpacked(body, MAX_PAGE_BYTES) if body.startswith(GZIP) else body
        text = reading.text = decoded(body, meta.charset)
        document = Document(text.text, kind_of(meta.content_type, text.text), Setting(reading.url, meta.fetched_at_ms))
        facts = self._facts(document, reading.url, meta)
        document.setting = Setting(facts.base_url, meta.fetched_at_ms, facts.language)
        directives = facts.robots | header_directives(meta.headers.get("x-robots-tag"), self._products)
        obeyed = directives if self._respects else frozenset[str]()
        reading.robots = obeyed & ROBOTS_OBEYED
        reading.noindex = bool(obeyed & {"noindex", "none"})
        if known is not None and self._tells_content:
            reading.content = content_of(meta.request.url, document, facts)
        if known is not None and meta.request.seed and document.kind == "xml" and self._takes_sitemaps:
            feed = read_feed(document.text)
            if feed.kind.startswith("sitemap"):
                self._take(reading, feed, meta.request, known)
                return Page(reading.url, document, facts, meta)
        if known is not None and self.sieve.follows:
            self._follow(reading, meta, facts, known, nofollow=bool(obeyed & {"nofollow", "none"}))
        return Page(reading.url, document, facts, meta)

    def _facts(self, document: Document, url: str, meta: PageMeta) -> PageFacts:
        language = meta.headers.get("content-language")
        if document.kind == "html":
            facts = read_page(document.lexbor, url, products=self._products, language=language)
        else:
            facts = PageFacts(base_url=url, language=language)
            if document.kind == "xml":
                feed = read_feed(document.text)
                facts.links, facts.title = feed.links, feed.title
        refresh = refresh_target(meta.headers["refresh"]) if "refresh" in meta.headers else None
        if refresh is not None:
            facts.links.append(RawLink(refresh[0], "refresh"))
        if "link" in meta.headers:
            _add_header_links(facts, meta.headers["link"], url)
        return facts

    def _follow(
        self, reading: Reading, meta: PageMeta, facts: PageFacts, known: Container[str], *, nofollow: bool
    ) -> None:
        request = meta.request
        if facts.refresh is not None:
            if nofollow:
                reading.sifted.refuse("nofollow")
            elif len(request.chain) < MOST_HOPS:
                hop = Hop(url=request.url, status=meta.status or 200)
                self._redirect(reading, meta, facts.refresh, hop, known)
        first = reading.sifted
        sifted = reading.sifted = self.sieve.sift(
            facts.links,
            base_url=facts.base_url,
            depth=request.depth + 1,
            site=request.site,
            known=known,
            page_nofollow=nofollow,
        )
        sifted.duplicates += first.duplicates
        for reason, count in first.refused.items():
            sifted.refused[reason] = sifted.refused.get(reason, 0) + count
        depth, site = request.depth + 1, request.site
        reading.targets += [Target(url, depth, site=site) for url in sifted.forwarded]

    def _redirect(self, reading: Reading, meta: PageMeta, location: str, hop: Hop, known: Container[str]) -> None:
        """The target of a redirect counts like the page it came from: same depth, a seed's is a seed (rule K)."""
        request = meta.request
        url = self.sieve.resolve(reading.url, location)
        if isinstance(url, str):
            reading.sifted.refuse(url)
            return
        if url.fp in known or url.fp == request.fp:
            reading.sifted.duplicates += 1
            return
        reason = self.scope.refusal(url, depth=request.depth, site=request.site, seed=request.seed)
        if reason is not None:
            reading.sifted.refuse(reason)
            return
        site = self.scope.site(url) if request.seed else request.site
        reading.targets.append(Target(url, request.depth, request.seed, (*request.chain, hop), site))

    def _sitemap(self, reading: Reading, meta: PageMeta, body: bytes, known: Container[str]) -> None:
        self._take(reading, _sitemap_of(unpacked(body), meta.charset), meta.request, known)

    def _take(self, reading: Reading, feed: Feed, request: FetchRequest, known: Container[str]) -> None:
        """What a sitemap names: pages one step from the seeds, or further sitemaps."""
        if feed.kind == "sitemapindex":
            nested = request.depth + 1 if request.kind == "sitemap" else 1
            reading.sitemaps = [] if nested > MOST_NESTED else self._nested(feed, request, reading.url)
            return
        # Where pages rest, a sitemap's word on a page that a link has named before is news all the same.
        dropped = frozenset[str]() if self._pages_rest else known
        sifted = reading.sifted = self.sieve.sift(
            feed.links, base_url=reading.url, depth=SITEMAP_DEPTH, site=request.site, known=dropped
        )
        reading.targets += [
            Target(url, SITEMAP_DEPTH, site=request.site, lastmod=sifted.lastmods.get(url.fp))
            for url in sifted.forwarded
        ]

    def _nested(self, feed: Feed, request: FetchRequest, base_url: str) -> list[CrawlUrl]:
        """Sitemaps that an index names: of its own site, or of a host of the job."""
        found: dict[str, CrawlUrl] = {}
        for link in feed.links:
            absolute = join(base_url, link.href)
            url = None if absolute is None else identify(absolute)
            if isinstance(url, CrawlUrl) and (
                url.key == request.key or self.scope.refusal(url, depth=0, site=request.site) in BY_NAME
            ):
                found[url.fp] = url
        found.pop(request.fp, None)
        return list(found.values())


def _add_header_links(facts: PageFacts, value: str, url: str) -> None:
    """Links of the `Link` header count as those of `link` elements do; the element's canonical URL goes first."""
    for link in header_links(value):
        relations = set(link.rel.split())
        absolute = join(url, link.target) if relations & LINK_RELATIONS else None
        if absolute is not None and "stylesheet" not in relations:
            facts.links.append(RawLink(absolute, "header", link.rel, link.title))
            if facts.canonical is None and "canonical" in relations:
                facts.canonical = absolute


def _sitemap_of(body: bytes, charset: str | None) -> Feed:
    text = decoded(body, charset).text
    feed = read_feed(text)
    return feed if feed.kind else read_text_sitemap(text)
