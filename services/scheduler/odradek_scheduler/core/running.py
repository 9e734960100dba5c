"""Runs of a recurring job in one partition: how a run begins, and how what the last one knew comes into it (rule A).

A run is begun by the first `RunDue` that names it. From the next batch on, facts of older runs are late, and what a
person asks for concerns the run that is under way. Then the partition renews itself, step by step: the known URLs of
one range of fingerprints are accepted in the new run; if the last run has missed some, those first that were not
visited for longest. The rows that they had two runs ago end with the last pass; those of the last run stay as they are.
"""

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from odradek.contracts import Discovered, PatternReleased, Renewed, RetryAsked, RunDue
from odradek.urls import fingerprint_ranges
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core import loads
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.keys import run_id, seen_key
from odradek_scheduler.core.resting import NOT_DUE, is_due
from odradek_scheduler.core.sitemaps import sitemap_run
from odradek_scheduler.core.state import (
    ACCEPTED,
    SATED,
    Ledger,
    Seen,
    Standing,
    Step,
    Visit,
    standing,
    unpack,
)

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

Asked = TypeVar("Asked", RetryAsked, PatternReleased)
TOGETHER: Final = 1_000
"""About so many URLs are renewed in one batch."""
MOST_PASSES: Final = 8
"""Each goes through all that is known; what was not visited for as many runs comes first, in no order."""
OUTLIVED_AT_ONCE: Final = 2_000
"""Values of hosts, of a run that is over, that end with one step."""
_OF_HOSTS: Final = "KQTW"
"""Kinds of values that a run has for each host: shares, patterns, sitemaps, counts."""
REMEMBERED: Final = 16
"""Runs of a job; a replay goes back over a second."""
_KNOWN: Final = ("fetched", "not_modified", "redirected")
"""Outcomes of a URL that the last run has not missed."""


class Renewal(msgspec.Struct, array_like=True):
    """How far a run has taken over what the one before knew here."""

    offset: int = -1
    urls: int = 0
    """That the run before knew."""
    passes: int = 1
    """More than one: what was not visited for longest comes first, and in the last what the run before has visited."""
    done: int = 0
    """Steps."""

    @property
    def steps(self) -> int:
        """In all."""
        return self.passes * len(fingerprint_ranges(self.urls, TOGETHER)) if self.urls else 0

    @property
    def over(self) -> bool:
        """True when everything is taken over."""
        return self.done >= self.steps

    def part(self, step: int) -> tuple[int, str, str]:
        """Pass, first fingerprint and end of a step."""
        ranges = fingerprint_ranges(self.urls, TOGETHER)
        return step // len(ranges), *ranges[step % len(ranges)]


def renewal_key(run: str) -> bytes:
    """Key in `ledger` of a run's renewal."""
    return f"N\0{run}".encode()


def began(job: Job, fact: RunDue, offset: int, *, counts: bool) -> bool:
    """Take note that a run begins; False when it has begun before."""
    if counts and fact.run > job.run:
        job.run = fact.run
        job.begun = [*job.begun, (offset, fact.run, fact.at_ms)][-REMEMBERED:]
    return (offset, fact.run) in ((at, run) for at, run, _ in job.begun)


def prepare(touched: "Touched", job: str, run: int) -> list[str]:
    """What the run before knew is to be taken over; it ends with this batch, so its numbers stay.

    Returns:
        That run, if it had reached its budget: no higher limit opens it again.
    """
    before = run_id(job, run - 1)
    old, closes = touched.ledger(before)
    if closes and old.sated:
        old.closed_by = "expired"
    renewal, counts = touched.value(Renewal, renewal_key(run_id(job, run)))
    if counts:
        renewal.urls = old.accepted
        renewal.passes = _passes(old)
    return [before] if old.reasons.get("skipped", {}).get(SATED) else []


def _passes(last: Ledger) -> int:
    """As many as it takes runs like the last one to visit everything."""
    rested = last.reasons.get("skipped", {}).get(NOT_DUE, 0)
    visited = last.fetched + last.not_modified + last.redirected + rested
    return min(MOST_PASSES, -(-last.accepted // max(1, visited)))


def concerned(fact: Discovered, run_now: int) -> tuple[int, bool]:
    """The run that a link or seed belongs to, and whether that is over: a seed told for an older run is one of now."""
    if abs(fact.run) >= run_now:
        return fact.run, False
    if fact.seed and fact.via is None and fact.run > 0:
        return run_now, False
    return fact.run, True


def of_now(touched: "Touched", fact: Asked) -> Asked:
    """What a person asks for concerns the run that is under way."""
    return msgspec.structs.replace(fact, run=touched.run_before(fact.job))


def entry(found: Discovered | Seen, offset: int, visit: Visit | None = None) -> Seen:
    """The record of a URL in a run, before its first transition."""
    return Seen(
        offset, found.url, found.key, found.depth, found.priority, found.seed, [],
        found.via, found.site, found.chain, found.meta, found.lastmod, visit,
    )  # fmt: skip


def renewed(touched: "Touched", fact: Renewed, place: tuple[int, int]) -> None:
    """One step. Told twice it changes nothing, since what a row says of its place in the log is judged first."""
    run = run_id(fact.job, fact.run)
    renewal, counts = touched.value(Renewal, renewal_key(run))
    if fact.step >= renewal.steps:
        return
    turn, first, end = renewal.part(fact.step)
    last = turn == renewal.passes - 1
    ledger, _ = touched.ledger(run)
    if not ledgers.closed_before(ledger, place[0]) or ledgers.sated_before(ledger, place[0]):
        _take_over(touched, fact, place, (first, end), (turn, renewal.passes))
    if last and fact.run > 2:  # noqa: PLR2004  (the first run has none before it, and the second leaves that)
        _forget(touched, fact, (first, end))
    if counts and fact.step == renewal.done:
        renewal.done += 1


def _forget(touched: "Touched", fact: Renewed, span: tuple[str, str]) -> None:
    """What is left of the run before the last: rows in a span, and some of the values of its hosts."""
    run = run_id(fact.job, fact.run - 2)
    for gone in (run, sitemap_run(run)):
        touched.forget_seen(seen_key(gone, ""), (span[0].encode(), span[1].encode()))
    touched.forget_values([f"{kind}\0{run}\0".encode() for kind in _OF_HOSTS], OUTLIVED_AT_ONCE)


def _take_over(
    touched: "Touched",
    fact: Renewed,
    place: tuple[int, int],
    span: tuple[str, str],
    turn: tuple[int, int],
) -> None:
    """`turn`: of so many passes this one; each takes over what was not visited for so many runs."""
    job, _ = touched.job(fact.job)
    old, run = run_id(fact.job, fact.run - 1), run_id(fact.job, fact.run)
    ledger, counts = touched.ledger(run)
    sated = ledgers.sated_before(ledger, place[0])
    began_ms, period_ms = job.began_ms(fact.run), job.began_ms(fact.run) - job.began_ms(fact.run - 1)
    bounds = [job.began_ms(fact.run - back) for back in range(2, turn[1])]
    prefix = seen_key(old, "")
    for key, value in touched.rows(prefix, (span[0].encode(), span[1].encode())):
        row = unpack(Seen, value)
        stood = standing(row.steps)
        if stood.reason == "trap" or turn[0] != turn[1] - min(turn[1], _age(row, stood, bounds)):
            continue
        fp = key[len(prefix) :].decode()
        rests = fact.longest_ms and not (row.seed or is_due(job, row.visit, (began_ms, period_ms), fact.longest_ms))
        step = Step(*place, "skipped", 0, NOT_DUE) if rests and not sated else Step(*place, ACCEPTED)
        if _enter(touched, run, fp, row, step):
            loads.changed(touched, ledger, (run, row.key), urls=1, opened=step.kind == ACCEPTED)
            if counts:
                _count(ledger, step, sated=sated)


def _age(row: Seen, stood: Standing, bounds: list[int]) -> int:
    """Since how many runs it was not visited; `bounds`: when the run before the last began, and those before that."""
    if stood.state in _KNOWN or (stood.state == "skipped" and stood.reason == NOT_DUE):
        return 1
    if row.visit is None:
        return MOST_PASSES
    return 2 + sum(row.visit.at_ms < began_ms for began_ms in bounds)


def _enter(touched: "Touched", run: str, fp: str, row: Seen, step: Step) -> bool:
    """The row in the new run; False when a link had found the URL there before."""
    key = seen_key(run, fp)
    seen = touched.seen(key)
    if seen is None:
        seen = entry(row, step.offset, row.visit)
        seen.record(step)
    elif seen.steps[0].place != step.place:
        if seen.visit is None and row.visit is not None:
            seen.visit = row.visit
            touched.change(key, seen)
        return False
    touched.change(key, seen)
    if step.kind == ACCEPTED:
        touched.open(run, fp, seen)
    return True


def _count(ledger: Ledger, step: Step, *, sated: bool) -> None:
    if step.kind == ACCEPTED:
        ledgers.count_accepted(ledger, sated=sated)
        return
    ledger.links_found += 1
    ledger.accepted += 1
    ledger.skipped += 1
    ledgers.count_reason(ledger, "skipped", NOT_DUE)
