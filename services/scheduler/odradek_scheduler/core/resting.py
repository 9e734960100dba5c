"""What is known of a page from earlier runs, and when one that stays the same, or stays away, is left out of a run."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from odradek.contracts import MISSING, Discovered, Parsed
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core import loads
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.keys import seen_key
from odradek_scheduler.core.state import REOPENED, Seen, Step, Visit, standing

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

NOT_DUE: Final = "not_due"
CALMER: Final = 1.5
"""By so much a page's time between visits grows when it has not changed."""
_MOST_CALM: Final = 40
_LESS_CALM: Final = 2
"""A change takes back so many visits without one."""


def is_due(job: Job, visit: Visit | None, run: tuple[int, int], longest_ms: int) -> bool:
    """Whether a run visits a page that is no seed: one that stays the same rests ever longer.

    It counts from the beginning of the run that visited it, however long it took until its turn came. `run`: when this
    one began, and how long after the one before.
    """
    began_ms, period_ms = run
    if visit is None or visit.calm == 0 or visit.at_ms > began_ms:
        return True  # the last: a clock was wrong
    rest_ms = min(longest_ms, period_ms * CALMER**visit.calm)
    return job.began_before_ms(visit.at_ms) + rest_ms - period_ms / 2 <= began_ms


def learned(visit: Visit | None, fact: Parsed) -> Visit | None:
    """What is known of a page after an outcome."""
    version, at_ms = fact.version, fact.at_ms
    if fact.outcome == "failed":
        return _missed(visit, fact) if fact.reason in MISSING and fact.run > 1 else visit
    if fact.outcome == "not_modified" and visit is not None:
        etag, modified = (None, None) if version is None else (version.etag, version.last_modified)
        return msgspec.structs.replace(
            visit, at_ms=at_ms, calm=_calmer(visit), missing=False,
            etag=etag or visit.etag, last_modified=modified or visit.last_modified,
        )  # fmt: skip
    if fact.outcome != "fetched" or version is None:
        return visit
    if visit is None:
        calm, changed_ms = 0, at_ms
    elif version.digest is not None and version.digest == visit.digest:
        calm, changed_ms = _calmer(visit), visit.changed_ms
    else:
        calm, changed_ms = 0 if visit.missing else max(0, visit.calm - _LESS_CALM), at_ms
    return Visit(version.rules, at_ms, changed_ms, calm, version.digest, version.etag, version.last_modified)


def _calmer(visit: Visit) -> int:
    """After one more visit without a change; that it is there again is one."""
    return 0 if visit.missing else min(visit.calm + 1, _MOST_CALM)


def _missed(visit: Visit | None, fact: Parsed) -> Visit:
    """Of a page that is not there, what it was; it is asked for again in the next run, and then rests as others do."""
    visit = visit or Visit("", fact.at_ms, 0)
    calm = min(visit.calm + 1, _MOST_CALM) if visit.missing else 0
    return msgspec.structs.replace(visit, at_ms=fact.at_ms, calm=calm, missing=True)


def lastmod_heard(touched: "Touched", run: str, fact: Discovered, seen: Seen, place: tuple[int, int]) -> None:
    """A sitemap names a known URL: one that was left out is visited all the same if it has changed since."""
    key, now = seen_key(run, fact.fp), standing(seen.steps, place)
    seen.lastmod = fact.lastmod
    touched.change(key, seen)
    changed_ms = _latest_ms(fact.lastmod or "")
    if now.reason != NOT_DUE or changed_ms is None or (seen.visit is not None and changed_ms <= seen.visit.at_ms):
        return
    ledger, counts = touched.ledger(run)
    seen.record(Step(*place, REOPENED))
    touched.open(run, fact.fp, seen)
    loads.changed(touched, ledger, (run, seen.key), opened=1)
    if counts:
        ledgers.count_reopened(ledger, now)


def _latest_ms(lastmod: str) -> int | None:
    """The last instant that a W3C date and time may mean: of a day, its end."""
    try:
        moment = datetime.fromisoformat(lastmod)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round((moment + timedelta(days="T" not in lastmod)).timestamp() * 1000)
