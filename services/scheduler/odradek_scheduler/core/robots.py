"""robots.txt by RFC 9309: what an answer means, whether a URL may be fetched, and the line that says so (rule J)."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.contracts import RobotsFetched
from odradek.urls import join
from odradek_scheduler.core.politeness import asked_rest_ms, jittered
from odradek_scheduler.core.rules import Rules, named_by, product_tokens
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
_REWRITTEN: Final = re.compile(r"[^!-$&-~]")
"""What the parser does not compare as it stands: `%` and anything not ASCII."""
_LINES_TRIED: Final = 50
_PARSED_LIMIT: Final = 1000
_PARSED_MOST: Final = 16 * 1024 * 1024
"""Characters of all files that stay parsed: a file takes some fifty times as much when parsed."""


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
        self._characters = 0

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

    def names_sitemaps(self, origin: str, robots: Robots | None) -> bool:
        """True if robots.txt names any; asked for each URL, so what they are is another question."""
        return robots is not None and bool(robots.text) and bool(self._rules(origin, robots).sitemaps)

    def sitemaps(self, origin: str, robots: Robots | None) -> list[str]:
        """The sitemaps that robots.txt names; for all robots, whatever group the lines stand in."""
        if robots is None or not robots.text:
            return []
        return [url for line in self._rules(origin, robots).sitemaps if (url := join(f"{origin}/robots.txt", line))]

    def _rules(self, origin: str, robots: Robots) -> Rules:
        key = (origin, robots.offset)
        rules = self._parsed.get(key)
        if rules is None:
            rules = self._parsed[key] = Rules(robots.text or "")
            self._characters += rules.characters
            while len(self._parsed) > _PARSED_LIMIT or (self._characters > _PARSED_MOST and len(self._parsed) > 1):
                self._characters -= self._parsed.popitem(last=False)[1].characters
        else:
            self._parsed.move_to_end(key)
        return rules


def deciding_line(text: str, url: str, agents: Sequence[str]) -> str | None:
    """The line that forbids the URL, such as `Disallow: /private (line 3)`: for a person, never for the decision.

    Lines that may match are put alone to the parser that decides, those of a group that names an agent before those
    of `*`, longer ones first: the first that forbids is told. None after some dozens that do not.
    """
    path = url.removeprefix(origin_of(url)) or "/"
    tokens = frozenset[str]().union(*map(product_tokens, agents))
    found: list[tuple[bool, int, str, int]] = []
    names: set[str] = set()
    in_names = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        name = named_by(line)
        if name is not None:
            names = {*names, name} & {*tokens, "*"} if in_names else {name} & {*tokens, "*"}
            in_names = True
            continue
        field, _, value = line.partition(":")
        field, value = field.strip().lower(), value.strip()
        in_names = in_names and field not in ("allow", "disallow")
        if field == "disallow" and names and _may_match(value, path):
            found.append((not names & tokens, -len(value), line, number))
    found.sort(key=lambda each: each[:2])
    for _, _, line, number in found[:_LINES_TRIED]:
        if not Rules(f"User-agent: *\n{line}").allows(url, agents):
            return f"{line} (line {number})"
    return None


def _may_match(pattern: str, path: str) -> bool:
    """False only where the parser that decides would not match either; what it rewrites is looked at up to there."""
    if "%" in path or _REWRITTEN.search(pattern):
        return path.startswith(_LITERAL.split(pattern, maxsplit=1)[0])
    first, *parts = pattern.partition("$")[0].split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
