"""How much new content each pattern of URLs brings: a fold of the pages read, and what dispatch concludes from it.

A value holds a few patterns of one host, and every decision about a pattern is made inside its value (rule A); the
number of values and of patterns in each is bounded. No limit of a job is part of the fold: whether a pattern is
quarantined is judged where it is used, so that a changed limit applies at once.
"""

import zlib
from typing import TYPE_CHECKING, Final

import msgspec

from odradek.contracts import Parsed, PatternReleased
from odradek.shapes import pattern_of, shape
from odradek.specification.traps import WINDOW, Traps
from odradek_scheduler.core.state import Seen, Standing

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

SHELVES: Final = 32
"""Values for each job, run and host."""
_TOGETHER: Final = 8
"""Patterns in one value; a further one takes the place of that with the fewest pages."""
_REMEMBERED: Final = 64
"""Different contents of a pattern, the latest."""


class Pattern(msgspec.Struct, array_like=True):
    """What pages of one pattern have shown."""

    name: str
    read: int = 0
    """Pages."""
    news: str = ""
    """Of the last ones, oldest first: 1 showed something new, 0 did not."""
    contents: list[str] = []
    """What the latest have shown, each once, the newest last."""
    trapped: int = 0
    """URLs skipped as traps."""
    released: bool = False
    """A person wants it to go on."""

    def page_read(self, content: str | None) -> None:
        """A page was read; without a `content` it says nothing of news."""
        self.read += 1
        if content is None:
            return
        fresh = content not in self.contents
        if not fresh:
            self.contents.remove(content)
        self.contents = [*self.contents, content][-_REMEMBERED:]
        self.news = (self.news + "01"[fresh])[-WINDOW:]


class Shelf(msgspec.Struct, array_like=True):
    """Some patterns of one job, run and host."""

    offset: int = -1
    patterns: list[Pattern] = []

    def find(self, name: str) -> Pattern | None:
        """The pattern of that name, if it is known."""
        return next((each for each in self.patterns if each.name == name), None)

    def pattern(self, name: str) -> Pattern | None:
        """The same, made when it is not known; None when there is no place for it."""
        found = self.find(name)
        if found is not None:
            return found
        if len(self.patterns) >= _TOGETHER:
            least = min((each for each in self.patterns if not each.released), key=lambda p: p.read, default=None)
            if least is None:
                return None
            self.patterns.remove(least)
        self.patterns.append(found := Pattern(name))
        return found


def shelf_key(run: str, key: str, pattern: str) -> bytes:
    """Key in `ledger` of the value that a pattern belongs to."""
    return f"{shelves_key(run)}{key}\0{zlib.crc32(pattern.encode()) % SHELVES:02d}".encode()


def shelves_key(run: str) -> str:
    """What the keys of all patterns of a job and run begin with."""
    return f"Q\0{run}\0"


def path_with_queries(url: str) -> str | None:
    """Under which name a path counts its queries; None without a query."""
    path, mark, query = url.partition("://")[2].partition("?")
    return f"{path}?*" if mark and query else None


# ---- the fold


def outcome_seen(touched: "Touched", run: str, seen: Seen, fact: Parsed) -> None:
    """A URL has ended: a page that was read, or a trap that was skipped, is noted under its pattern."""
    if fact.outcome == "skipped" and fact.reason == "trap":
        for pattern in _counting(touched, run, seen.key, pattern_of(seen.url)):
            pattern.trapped += 1
    elif fact.outcome == "fetched":
        for pattern in _counting(touched, run, seen.key, None if fact.content is None else shape(seen.url)):
            pattern.page_read(fact.content)
        for pattern in _counting(touched, run, seen.key, path_with_queries(seen.url)):
            pattern.page_read(None)


def released(touched: "Touched", run: str, fact: PatternReleased) -> None:
    """The pattern is never quarantined again in this run."""
    for pattern in _counting(touched, run, fact.key, fact.pattern):
        pattern.released, pattern.trapped = True, 0


def reopened_by(fact: PatternReleased, seen: Seen, now: Standing) -> bool:
    """True if the release opens this URL again: it was skipped as a trap, and follows the pattern."""
    return (
        now.state == "skipped"
        and now.reason == "trap"
        and fact.pattern in (pattern_of(seen.url), path_with_queries(seen.url))
    )


def _counting(touched: "Touched", run: str, key: str, name: str | None) -> list[Pattern]:
    """The pattern, if this batch counts for it."""
    if name is None:
        return []
    shelf, counts = touched.value(Shelf, shelf_key(run, key, name))
    pattern = shelf.pattern(name) if counts else None
    return [] if pattern is None else [pattern]


# ---- what follows from it


def new_share(pattern: Pattern, pages: int) -> float | None:
    """The share of the last `pages` pages that showed something new; None before there are so many."""
    last = pattern.news[-pages:]
    return last.count("1") / pages if len(last) == pages else None


def quarantine(pattern: Pattern | None, traps: Traps) -> str | None:
    """Why URLs of the pattern are held back, in one sentence; None: they are not."""
    if pattern is None or pattern.released or traps.quarantine_after is None:
        return None
    share = new_share(pattern, traps.quarantine_after)
    if share is None or share >= traps.min_new_share:
        return None
    return (
        f"The pattern {pattern.name} is in quarantine: of its last {traps.quarantine_after} pages "
        f"{round(share * traps.quarantine_after)} showed anything new."
    )


def explosion(pattern: Pattern | None, traps: Traps) -> str | None:
    """Why no more queries of a path are asked for; None: more are."""
    most = traps.max_queries_per_path
    if pattern is None or pattern.released or most is None or pattern.read < most:
        return None
    return f"{pattern.read:,} pages of {pattern.name} with different queries were read, as many as the job allows."
