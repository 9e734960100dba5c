"""Whether a URL whose turn it is has led into a trap: by itself, or by what its pattern has brought so far."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from odradek.shapes import pattern_of, shape
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.quarantine import (
    Pattern,
    Shelf,
    explosion,
    new_share,
    path_with_queries,
    quarantine,
    shelf_key,
)
from odradek_scheduler.core.sitemaps import MOST_READ, is_sitemap_run
from odradek_scheduler.core.state import Seen
from odradek_scheduler.core.terms import Terms
from odradek_scheduler.core.traps import static_trap

_DAY_MS = 86_400_000


class TrapJudge:
    """Reads the patterns; what dispatch decides and `explain` tells is the same answer."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def verdict(self, run: str, seen: Seen, terms: Terms, now_ms: int) -> str | None:
        """Why an accepted URL is skipped as a trap, in one sentence; a seed never is."""
        if seen.seed:
            return None
        if is_sitemap_run(run):
            read = self._cache.ledger(run).fetched
            return f"{read:,} sitemaps were read, as many as a job may have here." if read >= MOST_READ else None
        return self.judge(run, seen.key, seen.url, terms, now_ms)

    def judge(self, run: str, key: str, url: str, terms: Terms, now_ms: int) -> str | None:
        """The same of any URL of a host that is not a seed."""
        traps = terms.traps
        found = static_trap(url, traps, _year(now_ms // _DAY_MS))
        if found is not None:
            known = self.pattern(run, key, pattern_of(url))
            return None if known is not None and known.released else found
        if traps.quarantine_after is not None:
            found = quarantine(self.pattern(run, key, shape(url)), traps)
        if found is None and traps.max_queries_per_path is not None:
            found = explosion(self.pattern(run, key, path_with_queries(url)), traps)
        return found

    def pattern(self, run: str, key: str, name: str | None) -> Pattern | None:
        """What is known of a pattern."""
        return None if name is None else self._cache.value(Shelf, shelf_key(run, key, name)).find(name)

    def explain(self, run: str, key: str, url: str, terms: Terms, now_ms: int) -> dict[str, Any]:
        """What there is to say of a URL: whether it is a trap, and what its pattern has brought."""
        name = shape(url)
        pattern = self.pattern(run, key, name)
        said: dict[str, Any] = {"trap": self.judge(run, key, url, terms, now_ms), "pattern": name}
        return said if pattern is None else said | pattern_row(pattern, terms)


def pattern_row(pattern: Pattern, terms: Terms) -> dict[str, Any]:
    """A pattern for a person."""
    pages = min(terms.traps.quarantine_after or len(pattern.news), len(pattern.news))
    return {
        "pattern": pattern.name,
        "pages": pattern.read,
        "new_share": new_share(pattern, pages) if pages else None,
        "trapped": pattern.trapped,
        "released": pattern.released,
        "quarantined": quarantine(pattern, terms.traps) or explosion(pattern, terms.traps),
    }


@lru_cache(maxsize=8)
def _year(days: int) -> int:
    return datetime.fromtimestamp(days * 86_400, UTC).year
