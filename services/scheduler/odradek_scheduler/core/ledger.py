"""The ledger of one job in one partition: what is counted, and when (rules A, C, F)."""

from typing import Final

from odradek.contracts import Counters, Parsed
from odradek_scheduler.core.state import PENDING, SATED, Ledger, Seen, Standing, standing

SUCCESSES: Final = frozenset(("fetched", "not_modified", "redirected"))
"""Outcomes that count while the URL is open, whatever try they belong to."""
_NUMBERS: Final = tuple(name for name in Counters.__struct_fields__ if name != "reasons")


def closed_before(ledger: Ledger, offset: int) -> bool:
    """True if an earlier batch has skipped all that was open, and none before this one has opened it again."""
    if ledger.closed_at is not None and ledger.closed_at < offset:
        return True
    return any(closed_at < offset <= opened_at for closed_at, opened_at in ledger.reopenings)


def sated_before(ledger: Ledger, offset: int) -> bool:
    """True if it was closed then because `max_pages` was reached: what comes is accepted, and skipped with the rest."""
    if ledger.sated and ledger.closed_at is not None and ledger.closed_at < offset:
        return True
    return any(closed_at < offset <= opened_at for closed_at, opened_at in ledger.reopenings)


def is_current(parsed: Parsed, seen: Seen, place: tuple[int, int]) -> bool:
    """A failure or skip counts for the current try only, a success while the URL is open (rule D)."""
    now = standing(seen.steps, place)
    if now.state != PENDING:
        return False
    return parsed.attempt == now.attempt or (parsed.attempt < now.attempt and parsed.outcome in SUCCESSES)


def count_reason(ledger: Ledger, outcome: str, reason: str | None, count: int = 1) -> None:
    """Add to the breakdown of skipped, failed or refused."""
    if outcome not in ("skipped", "failed", "refused"):
        return
    by_reason = ledger.reasons.setdefault(outcome, {})
    name = reason or "unknown"
    left = by_reason.get(name, 0) + count
    if left:
        by_reason[name] = left
    else:
        by_reason.pop(name, None)


def count_refused(ledger: Ledger, reason: str) -> None:
    """A link came that was refused where it was judged."""
    ledger.links_found += 1
    ledger.refused += 1
    count_reason(ledger, "refused", reason)


def count_retry(ledger: Ledger, parsed: Parsed) -> None:
    """A try failed and another follows; the URL stays pending."""
    ledger.retries += 1
    _count_page(ledger, parsed)


def count_outcome(ledger: Ledger, parsed: Parsed) -> None:
    """A URL has ended: its outcome, its page, and the links that the parser had dropped."""
    ledger.pending -= 1
    outcome = parsed.outcome
    setattr(ledger, outcome, getattr(ledger, outcome) + 1)
    count_reason(ledger, outcome, parsed.reason)
    if parsed.kept:
        ledger.kept += 1
    if parsed.fp in ledger.holders:
        ledger.holders.remove(parsed.fp)
    _count_page(ledger, parsed)


def _count_page(ledger: Ledger, parsed: Parsed) -> None:
    ledger.items += parsed.items
    ledger.malformed += parsed.malformed
    ledger.bytes += parsed.size_bytes
    links = parsed.links
    if links.found:
        refused = sum(links.refused.values())
        ledger.links_found += links.duplicates + refused
        ledger.duplicates += links.duplicates
        ledger.refused += refused
        for reason, count in links.refused.items():
            count_reason(ledger, "refused", reason, count)


def count_reopened(ledger: Ledger, was: Standing) -> None:
    """A URL that had failed or was skipped is open again."""
    outcome = was.state or ""
    setattr(ledger, outcome, getattr(ledger, outcome) - 1)
    ledger.pending += 1
    count_reason(ledger, outcome, was.reason, -1)


def close(ledger: Ledger, offset: int, reason: str) -> None:
    """All open URLs become skipped at this offset, in bulk (rule H)."""
    ledger.closed_at, ledger.closed_by = offset, reason
    ledger.skipped += ledger.pending
    if ledger.pending:
        count_reason(ledger, "skipped", reason, ledger.pending)
    ledger.pending = 0
    if reason != SATED:
        ledger.holders = []


def reopen(ledger: Ledger, offset: int) -> None:
    """A higher `max_pages`: what the reached one has skipped is open again. Permits have stayed with their URLs."""
    skipped = ledger.reasons.get("skipped", {}).get(SATED, 0)
    ledger.skipped -= skipped
    ledger.pending += skipped
    count_reason(ledger, "skipped", SATED, -skipped)
    ledger.reopenings.append((ledger.closed_at or 0, offset))
    ledger.closed_at = ledger.closed_by = None


def arm(ledger: Ledger, version: int, before: int | None, max_pages: int | None) -> None:
    """A limit was told. Where there was none, URLs are under way without permits; not where nothing was ever accepted.

    `version`: of the job; `before`, `max_pages`: the limit until now, and from now on.
    """
    if max_pages is None:
        ledger.unarmed = 0
        return
    ledger.limit_version = max(version, ledger.limit_version)
    if before is None and ledger.accepted:
        ledger.unarmed = version


def count_accepted(ledger: Ledger, *, sated: bool) -> None:
    """A new URL; with the budget reached it is skipped at once."""
    ledger.links_found += 1
    ledger.accepted += 1
    if sated:
        ledger.skipped += 1
        count_reason(ledger, "skipped", SATED)
    else:
        ledger.pending += 1


def give_back(ledger: Ledger) -> None:
    """Permits that no open URL can use any more go back to the home partition (rule F)."""
    free = ledger.free_permits
    if free > 0 and ledger.pending <= len(ledger.holders):
        ledger.returned += free


def counters(ledger: Ledger) -> Counters:
    """The ledger as reports carry it."""
    numbers = {name: getattr(ledger, name) for name in _NUMBERS}
    return Counters(reasons={outcome: dict(by) for outcome, by in ledger.reasons.items() if by}, **numbers)
