"""Limits that the fold itself must know: each from the offset on at which it was told (rules A, F)."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek_scheduler.core import budget
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core.state import Ledger

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

REMEMBERED: Final = 16
"""Limits of a job; a replay goes back over a second."""

MOST: Final = 10**12
"""A limit that is higher is none of a job's."""

Remembered = tuple[int, int, int | None, int | None, bool]
"""Where limits were told, and what they were."""


class Limits(NamedTuple):
    """What one version of a job says."""

    version: int
    max_pages: int | None
    max_pages_per_host: int | None
    by_host: bool
    """URLs are counted by host."""


def can_be_read(spec: dict[str, Any]) -> bool:
    """True when a specification has limits where they belong, and they are numbers, or none."""
    scope, schedule = spec.get("scope", {}), spec.get("schedule")
    if not isinstance(scope, dict) or not isinstance(schedule, dict | None):
        return False
    counts = (scope.get("max_pages"), scope.get("max_pages_per_host"))
    return all(count is None or (type(count) is int and 0 <= count <= MOST) for count in counts)


def limits_in(spec: dict[str, Any], version: int) -> Limits:
    """The limits of a specification."""
    scope = spec.get("scope", {})
    by_host = (spec.get("schedule") or {}).get("fresh_by") is not None
    return Limits(version, scope.get("max_pages"), scope.get("max_pages_per_host"), by_host)


def remembered(known: list[Remembered], limits: Limits, offset: int) -> list[Remembered]:
    """The limits of a job with these, told at this offset."""
    return [*known, (offset, *limits)][-REMEMBERED:]


def limit(touched: "Touched", run: str, limits: Limits, offset: int, *, partitions: int) -> None:
    """A run has these limits from here on; `partitions`: among which its permits are shared out here, 0: not here."""
    ledger, counts = touched.ledger(run)
    per_host = limits.max_pages_per_host
    if counts and per_host != (ledger.host_limits[-1][1] if ledger.host_limits else None):
        ledger.host_limits.append((offset, per_host))
    if counts:
        ledger.by_host = ledger.by_host if ledger.accepted else limits.by_host
        _limit_pages(ledger, limits, offset)
    if not partitions or (limits.max_pages is None and not touched.has_home(run)):
        return
    shared, counts = touched.home(run)
    if counts and limits.version >= shared.version:
        if limits.version > 1 and limits.max_pages is not None and shared.max_pages is None:
            shared.since = limits.version
        shared.version, shared.max_pages = limits.version, limits.max_pages
        budget.share_out(shared, partitions)


def _limit_pages(ledger: Ledger, limits: Limits, offset: int) -> None:
    """With a lower limit, or one after none, permits that no URL holds go back: the home shares out again."""
    _, known, before = ledger.page_limits[-1] if ledger.page_limits else (0, -1, None)
    if limits.version < known:
        return
    ledgers.arm(ledger, limits.version, before, limits.max_pages)
    if limits.max_pages == before:
        return
    ledger.page_limits.append((offset, limits.version, limits.max_pages))
    if limits.max_pages is not None and (before is None or limits.max_pages < before):
        ledger.returned += max(0, ledger.free_permits)
