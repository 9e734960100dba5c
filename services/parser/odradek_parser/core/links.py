"""Outlinks: what a page's references mean, which of them belong to the crawl, and which are news."""

from collections.abc import Container, Iterable
from functools import lru_cache

import msgspec

from odradek.contracts import Links
from odradek.scope import Scope
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify_normalised, join
from odradek_parser.core.page import RawLink

MAX_LASTMOD = 40
"""Characters; the longest form of W3C date and time has fewer."""
_ABSOLUTE = ("http://", "https://")
RESOLVED_LIMIT = 50_000
"""Absolute references remembered for one job: navigation repeats on every page."""


class Sifted(msgspec.Struct):
    """What became of the references of one page."""

    forwarded: list[CrawlUrl] = []
    """In scope and not known to have been forwarded before; each once."""
    duplicates: int = 0
    refused: dict[str, int] = {}
    lastmods: dict[str, str] = {}
    """By fingerprint, what a sitemap says of the last change."""

    def counts(self) -> Links:
        """What was dropped here; what is forwarded is counted where it arrives (rule C)."""
        found = self.duplicates + sum(self.refused.values())
        return Links(found=found, duplicates=self.duplicates, refused=self.refused)

    def refuse(self, reason: str) -> None:
        """Count one refusal."""
        self.refused[reason] = self.refused.get(reason, 0) + 1


class Sieve:
    """The link rules of one version of a job, compiled once."""

    def __init__(self, spec: JobSpecification, scope: Scope) -> None:
        rules = spec.scope.url_rules
        self.scope = scope
        self._nofollow = spec.politeness.respect_robots
        self.follows = spec.scope.follow_links
        self.identify = lru_cache(maxsize=RESOLVED_LIMIT)(lambda href: identify_normalised(href, rules))
        self._absolute = lru_cache(maxsize=RESOLVED_LIMIT)(lambda href: self._resolve(href, href))

    def resolve(self, base_url: str, href: str) -> CrawlUrl | str:
        """The URL a reference means, or why it cannot be crawled."""
        return self._absolute(href) if href.startswith(_ABSOLUTE) else self._resolve(base_url, href)

    def _resolve(self, base_url: str, href: str) -> CrawlUrl | str:
        absolute = join(base_url, href)
        return "malformed" if absolute is None else self.identify(absolute)

    def sift(
        self,
        links: Iterable[RawLink],
        *,
        base_url: str,
        depth: int,
        site: str | None,
        known: Container[str],
        page_nofollow: bool = False,
    ) -> Sifted:
        """Judge references found on a page; `depth` is theirs, `known` holds fingerprints forwarded before.

        A reference that is empty or only a fragment leads nowhere and is not counted.
        """
        sifted = Sifted()
        mine: set[str] = set()
        nofollow, absolute = self._nofollow, self._absolute
        for link in links:
            href = link.href.strip()
            if not href or href[0] == "#":
                continue
            if nofollow and (page_nofollow or (link.rel and "nofollow" in link.rel.split())):
                sifted.refuse("nofollow")
                continue
            url = absolute(href) if href.startswith(_ABSOLUTE) else self._resolve(base_url, href)
            if isinstance(url, str):
                sifted.refuse(url)
            elif url.fp in mine or url.fp in known:
                sifted.duplicates += 1
            else:
                reason = self.scope.refusal(url, depth=depth, site=site)
                if reason is None:
                    mine.add(url.fp)
                    sifted.forwarded.append(url)
                    if link.lastmod is not None:
                        sifted.lastmods[url.fp] = link.lastmod[:MAX_LASTMOD]
                else:
                    sifted.refuse(reason)
        return sifted
