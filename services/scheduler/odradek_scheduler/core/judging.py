"""What would become of a URL if its turn were now: one judgement, for dispatch and for `explain` (rules F, I, J).

It reads what is known and changes nothing, so `explain` says what dispatch does.
"""

from enum import Enum
from typing import Final, NamedTuple

from odradek.contracts import Outcome
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.robots import RobotsCache, origin_of
from odradek_scheduler.core.sitemaps import MOST_LISTED, Listing, listing_key
from odradek_scheduler.core.state import Robots, Seen
from odradek_scheduler.core.terms import Terms
from odradek_scheduler.core.trapping import TrapJudge


class Verdict(Enum):
    """What becomes of a URL whose turn it is."""

    GO = 1
    ASK = 2
    """Its origin's robots.txt comes first."""
    WAIT = 3
    """Not now; its page knows when."""
    LIST = 6
    """Its origin's sitemaps are handed over first."""
    ENDED = 4
    """It is skipped or fails without a fetch."""
    REST = 5
    """Its robots.txt asks for a longer delay than the host has rested."""


class Judgement(NamedTuple):
    """A verdict and what it rests on."""

    verdict: Verdict
    end: tuple[Outcome, str] | None = None
    """Outcome and reason, of ENDED."""
    why: str = ""
    """One sentence for a person, of WAIT and ENDED."""
    due_ms: int | None = None
    """Of WAIT."""
    crawl_delay_ms: int = 0
    """What its robots.txt asks for, of GO and ENDED."""
    sitemaps: tuple[str, ...] = ()
    """Of LIST."""


_CHARACTERS_A_VISIT: Final = 2_048
"""Of rules with wildcards, read in the time that looking at a URL takes otherwise."""
_GO = Judgement(Verdict.GO)


class Judge:
    """Judges by the cache of the tables; keeps nothing but parsed robots.txt files."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._robots = RobotsCache()
        self.traps = TrapJudge(memory.cache)

    def judge(self, run: str, seen: Seen, terms: Terms, now_ms: int) -> Judgement:
        """An accepted URL of a run, its turn come and its host free."""
        key = seen.key
        if self._memory.cache.host(key).blocked:
            return _ended("skipped", "host_blocked", "The host is blocked.")
        why = self.traps.verdict(run, seen, terms, now_ms)
        if why is not None:
            return _ended("skipped", "trap", why)
        found = self._by_robots(run, seen, terms, now_ms) if terms.respect_robots else _GO
        if found.verdict is Verdict.GO and terms.max_pages_per_host is not None:
            kept = self._memory.cache.share(run, key).kept
            if kept >= terms.max_pages_per_host:
                why = f"{kept} pages of {key} are kept, as many as the job allows for one host."
                return _ended("skipped", "budget_host", why)
        return found

    def effort(self, seen: Seen, terms: Terms) -> int:
        """How many URLs could be looked at in the time this one may take: robots.txt may be 500 KiB of wildcards."""
        if not terms.respect_robots:
            return 0
        return len(self._memory.cache.robots(seen.key, origin_of(seen.url)).text or "") // _CHARACTERS_A_VISIT

    def robots_say(self, key: str, url: str, terms: Terms, now_ms: int) -> tuple[str, str | None]:
        """State and deciding line of robots.txt; `ignored` where the job does not ask."""
        if not terms.respect_robots:
            return "ignored", None
        origin = origin_of(url)
        return self._robots.verdict(origin, self._memory.cache.robots(key, origin), url, terms.agents, now_ms)

    def _by_robots(self, run: str, seen: Seen, terms: Terms, now_ms: int) -> Judgement:
        key, url = seen.key, seen.url
        origin = origin_of(url)
        robots = self._memory.cache.robots(key, origin)
        verdict = self._robots.verdict(origin, robots, url, terms.agents, now_ms)
        if verdict.state == "unknown":
            return Judgement(Verdict.ASK, why=f"{origin}/robots.txt has to be asked for first.")
        if verdict.state == "unavailable":
            why = f"{origin}/robots.txt did not answer {robots.failures} times, so nothing there is allowed."
            if robots.failures > terms.retries:
                return _ended("failed", "robots_unavailable", why)
            return Judgement(Verdict.WAIT, why=why, due_ms=robots.expires_at_ms)
        if terms.sitemaps and (listed := self._unlisted(run, key, origin, robots)):
            return Judgement(Verdict.LIST, why="The sitemaps of its origin are handed over first.", sitemaps=listed)
        delay_ms = self._robots.delay_ms(origin, robots, terms.agents)
        if verdict.state == "denied":
            why = f"{origin}/robots.txt forbids it: {verdict.rule or 'no line could be named'}."
            return _ended("skipped", "robots", why, delay_ms)
        return Judgement(Verdict.GO, crawl_delay_ms=delay_ms) if delay_ms else _GO

    def _unlisted(self, run: str, key: str, origin: str, robots: Robots) -> tuple[str, ...]:
        """Sitemaps of the origin that were not handed to the run yet."""
        if not self._robots.names_sitemaps(origin, robots):
            return ()
        if self._memory.cache.value(Listing, listing_key(run, key, origin)).offset >= 0:
            return ()
        return tuple(dict.fromkeys(self._robots.sitemaps(origin, robots)))[:MOST_LISTED]


def _ended(outcome: Outcome, reason: str, why: str, crawl_delay_ms: int = 0) -> Judgement:
    return Judgement(Verdict.ENDED, (outcome, reason), why, crawl_delay_ms=crawl_delay_ms)
