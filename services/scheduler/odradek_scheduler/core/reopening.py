"""URLs that are open again: failed ones on demand, trapped ones when their pattern is released."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from odradek.contracts import PatternReleased, RetryAsked
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core import loads, quarantine
from odradek_scheduler.core.keys import run_id, seen_key
from odradek_scheduler.core.sitemaps import sitemap_run
from odradek_scheduler.core.state import REOPENED, Seen, Standing, Step, standing

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

Place = tuple[int, int]
"""(batch offset, index in the batch)."""
BLOCKED: Final = "host_blocked"
"""The one reason of a skip that a person takes back without another job."""
_BLOCKED: Final = b'"host_blocked"'
_FAILED: Final = b'"failed"'
_TRAP: Final = b'"trap"'


def retried(touched: "Touched", fact: RetryAsked, place: Place) -> None:
    """Failed URLs and sitemaps, of one reason or all; those of a blocked host, which failed nowhere, by that only."""
    state, mark = ("skipped", _BLOCKED) if fact.reason == BLOCKED else ("failed", _FAILED)

    def asked(seen: Seen, now: Standing) -> bool:  # noqa: ARG001  (the question is the same for all reopenings)
        return now.state == state and fact.reason in (None, now.reason)

    if _goes_on(touched, fact, place):
        run = run_id(fact.job, fact.run)
        for each in (run, sitemap_run(run)):
            _reopen(touched, each, fact, place, mark, asked)


def released(touched: "Touched", fact: PatternReleased, place: Place) -> None:
    """Trapped URLs of a pattern, which is never quarantined again in this run."""
    if _goes_on(touched, fact, place):
        run = run_id(fact.job, fact.run)
        quarantine.released(touched, run, fact)
        _reopen(touched, run, fact, place, _TRAP, lambda seen, now: quarantine.reopened_by(fact, seen, now))


def _goes_on(touched: "Touched", fact: RetryAsked | PatternReleased, place: Place) -> bool:
    """Take note of the epoch; False when the run is over."""
    job, counts = touched.job(fact.job)
    if counts:
        job.epoch = max(job.epoch, fact.epoch)
    ledger, _ = touched.ledger(run_id(fact.job, fact.run))
    return not ledgers.closed_before(ledger, place[0])


def _reopen(
    touched: "Touched",
    run: str,
    fact: RetryAsked | PatternReleased,
    place: Place,
    mark: bytes,
    asked: Callable[[Seen, Standing], bool],
) -> None:
    ledger, counts = touched.ledger(run)
    prefix = seen_key(run, "")
    for key, seen in touched.seen_with(prefix, (fact.first.encode(), fact.end.encode()), mark):
        now = standing(seen.steps, place)
        if not asked(seen, now):
            continue
        seen.record(Step(*place, REOPENED))
        touched.change(key, seen)
        touched.open(run, key[len(prefix) :].decode(), seen)
        loads.changed(touched, ledger, (run, seen.key), opened=1)
        if counts:
            ledgers.count_reopened(ledger, now)
