"""What a round must come to, what it came to, and the difference in words. Nothing here is asked of anybody."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

CARDS = 3
OUTCOMES: Final = ("fetched", "not_modified", "redirected", "skipped", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Of one round."""

    pages: int
    """Pages that the site has ever linked to."""
    hostile: Mapping[str, int]
    """Cases of the hostile site by `outcome` or `outcome reason`."""
    bad_jobs: Mapping[str, str] = field(default_factory=dict)
    """Jobs of one page by what it does: crash, hang or exhaust."""
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Of one round, as ledger, stores, logs and the site tell it."""

    audit: Mapping[str, Any]
    hostile_audit: Mapping[str, Any]
    bad_audits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    """Of each job that has not ended as it should."""
    items: int
    """Documents in the store."""
    records: int
    """Different records among them, by the page and place they were read from."""
    strays: int = 0
    """Documents of no page that exists."""
    events: Mapping[tuple[str, str, int], int]
    """By URL, action and try: how often it is in the search engine."""
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, int] = field(default_factory=dict)
    requests: int
    """That the site answered."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Three numbers that must be zero, and what was done twice, which may be anything."""

    lost: int
    double_stored: int
    unexplained: tuple[str, ...]
    fetched_twice: int
    late: int
    retried: int

    @property
    def good(self) -> bool:
        return (self.lost, self.double_stored, self.unexplained) == (0, 0, ())


def tally(audit: Mapping[str, Any]) -> dict[str, int]:
    """A ledger's URLs by `outcome` or `outcome reason`; nothing that is zero."""
    found: Counter[str] = Counter()
    for outcome in OUTCOMES:
        reasons = audit["reasons"].get(outcome, {})
        found[outcome] = audit[outcome] - sum(reasons.values())
        found.update({f"{outcome} {reason}": count for reason, count in reasons.items()})
    return {name: count for name, count in found.items() if count}


def reckon(expected: Expected, found: Found) -> Verdict:
    """Compare everything with everything."""
    pages, items = expected.pages, expected.pages * CARDS
    parsed = {url for url, action, _ in found.events if action == "parse"}
    fetched = {url for url, action, _ in found.events if action == "fetch"}
    lost = (
        max(0, pages - found.audit["fetched"])
        + max(0, items - found.records)
        + max(0, pages - len(parsed))
        + max(0, pages - len(fetched))
        + max(0, sum(expected.hostile.values()) - sum(tally(found.hostile_audit).values()))
    )
    double = found.items - found.records + sum(count - 1 for count in found.events.values())
    return Verdict(
        lost=lost,
        double_stored=double,
        unexplained=tuple(_unexplained(expected, found, len(parsed))),
        fetched_twice=found.requests - pages,
        late=found.audit["late"],
        retried=sum(1 for _, action, attempt in found.events if action == "fetch" and attempt > 0),
    )


def _unexplained(expected: Expected, found: Found, parsed: int) -> list[str]:
    wanted = {"fetched": expected.pages}
    said = [f"{job} is {state}" for job, state in found.states.items()]
    said += _differs("the ledger has", wanted, tally(found.audit))
    said += _differs("the hostile site's ledger has", expected.hostile, tally(found.hostile_audit))
    for name, audit in (("the", found.audit), ("the hostile site's", found.hostile_audit)):
        said += [] if audit["balanced"] is True else [f"{name} ledger does not balance"]
    for job, fate in expected.bad_jobs.items():
        end = found.bad_audits.get(job)
        ends = {"fetched": 1} if fate == "exhaust" else {"failed poison": 1}
        said += [f"{job} was not audited"] if end is None else _differs(f"a page that does {fate} is", ends, tally(end))
    if found.records > expected.pages * CARDS or found.strays:
        said.append(f"{found.records} records and {found.strays} strays where {expected.pages * CARDS} were to be")
    if parsed > expected.pages:
        said.append(f"{parsed} URLs have an event of being parsed, {expected.pages} were to")
    letters = Counter(expected.dead_letters)
    letters["pages"] += len(expected.bad_jobs)
    said += _differs(
        "dead letters by topic are", {name: count for name, count in letters.items() if count}, found.dead_letters
    )
    said += [
        f"no gap is told of {topic}" for topic, count in expected.gaps.items() if count and not found.gaps.get(topic)
    ]
    said += [f"a gap of {topic} is told" for topic in found.gaps if not expected.gaps.get(topic)]
    return said


def _differs(what: str, wanted: Mapping[str, int], have: Mapping[str, int]) -> list[str]:
    if dict(wanted) == dict(have):
        return []
    names = sorted(set(wanted) | set(have))
    told = [
        f"{name} {have.get(name, 0)} for {wanted.get(name, 0)}"
        for name in names
        if have.get(name, 0) != wanted.get(name, 0)
    ]
    return [f"{what} {', '.join(told)}"]
