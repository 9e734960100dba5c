"""robots.txt by RFC 9309: what an answer means, whether a URL may be fetched, and the line that says so (rule J)."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.contracts import RobotsFetched
from odradek.urls import join
from odradek_scheduler.core.politeness import asked_rest_ms, jittered
from odradek_scheduler.core.rules import Rules
from odradek_scheduler.core.state import Robots

MOST_AGE_MS: Final = 24 * 3_600_000
"""RFC 9309 section 2.4: a copy should not be used longer."""
LEAST_AGE_MS: Final = 60_000
ASK_AGAIN_MS: Final = (5_000, 30_000, 300_000, 3_600_000)
"""After so many attempts in a row without an answer that counts."""
CRAWL_DELAY_MOST_S: Final = 30 * 86_400.0
"""More is read as this, so that no sum overflows; a job clamps it far lower."""
_LITERAL: Final = re.compile(r"[^!-#&-)+-~]")
"""Where the beginning of a path pattern ends that means itself: at `*`, `$`, `%` or anything not ASCII."""
_PARSED_LIMIT: Final = 1000


class Verdict(NamedTuple):
    """What robots.txt says of one URL."""

    state: str
    """allowed, denied, unknown (ask first) or unavailable (no answer that counts so far)."""
    rule: str | None = None
    """The deciding line; null when none does."""


def answer_judged(robots: Robots, fact: RobotsFetched) -> None:
    """RFC 9309 section 2.3.1: 2xx are rules, other 4xx allow all, 5xx, 429 and silence deny (a known copy stays)."""
    status = fact.status
    robots.status, robots.reason = status, fact.reason
    if status is not None and status < 500 and status != 429:  # noqa: PLR2004  (HTTP's classes)
        robots.text = (fact.text or "") if status < 300 else ""  # noqa: PLR2004
        robots.failures = 0
        robots.fetched_at_ms = fact.at_ms
        age = MOST_AGE_MS if fact.max_age_s is None else fact.max_age_s * 1000
        robots.expires_at_ms = fact.at_ms + min(max(age, LEAST_AGE_MS), MOST_AGE_MS)
        return
    robots.failures += 1
    span = jittered(ASK_AGAIN_MS[min(robots.failures, len(ASK_AGAIN_MS)) - 1], fact.origin, robots.failures)
    robots.expires_at_ms = fact.at_ms + max(span, asked_rest_ms(fact.retry_after_s))


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL in the WHATWG serialisation, which leaves a default port out."""
    end = url.find("/", url.find("://") + 3)
    return url if end < 0 else url[:end]


class RobotsCache:
    """Parsed robots.txt files, the newest used last; bounded."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, int], Rules] = OrderedDict()

    def verdict(self, origin: str, robots: Robots | None, url: str, agents: Sequence[str], now_ms: int) -> Verdict:
        """What is known to be allowed now."""
        if robots is None or robots.offset < 0 or robots.expires_at_ms <= now_ms:
            return Verdict("unknown")
        if robots.text is None:
            return Verdict("unavailable")
        if not robots.text or self._rules(origin, robots).allows(url, agents):
            return Verdict("allowed")
        return Verdict("denied", deciding_line(robots.text, url, agents))

    def delay_ms(self, origin: str, robots: Robots | None, agents: Sequence[str]) -> int:
        """The crawl-delay that robots.txt asks for; 0 when it asks for none."""
        if robots is None or not robots.text:
            return 0
        return int(min(self._rules(origin, robots).crawl_delay_s(agents), CRAWL_DELAY_MOST_S) * 1000)

    def sitemaps(self, origin: str, robots: Robots | None) -> list[str]:
        """The sitemaps that robots.txt names; for all robots, whatever group the lines stand in."""
        if robots is None or not robots.text or "sitemap" not in robots.text.lower():
            return []
        return [url for line in self._rules(origin, robots).sitemaps if (url := join(f"{origin}/robots.txt", line))]

    def _rules(self, origin: str, robots: Robots) -> Rules:
        key = (origin, robots.offset)
        rules = self._parsed.get(key)
        if rules is None:
            rules = self._parsed[key] = Rules(robots.text or "")
            if len(self._parsed) > _PARSED_LIMIT:
                self._parsed.popitem(last=False)
        else:
            self._parsed.move_to_end(key)
        return rules


def deciding_line(text: str, url: str, agents: Sequence[str]) -> str | None:
    """The line that forbids the URL, such as `Disallow: /private (line 3)`: for a person, never for the decision.

    Each rule is put alone to the parser that decides, under the names of its own group; among those that forbid, a
    group that names an agent goes before `*`, then the longest rule wins.
    """
    best: tuple[bool, int, str] | None = None
    names: list[str] = []
    in_names = False
    path = url.removeprefix(origin_of(url)) or "/"
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        field, _, value = line.partition(":")
        field = field.strip().lower()
        if field == "user-agent":
            names = [*names, line] if in_names else [line]
            in_names = True
            continue
        in_names = in_names and field not in ("allow", "disallow")
        if field != "disallow" or not path.startswith(_LITERAL.split(value.strip(), maxsplit=1)[0]):
            continue
        rules = Rules("\n".join([*names, line]))
        rank = (rules.names_one_of(agents), len(value.strip()), f"{line} (line {number})")
        if (best is None or rank[:2] > best[:2]) and not rules.allows(url, agents):
            best = rank
    return best[2] if best else None
