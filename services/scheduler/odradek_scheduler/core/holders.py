"""Which URLs hold a permit of their job, or a share of their host (rule F).

The two are two values of the table, so each is decided on its own.
"""

from typing import TYPE_CHECKING

from odradek.contracts import Parsed, Reserve
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core.keys import run_id, seen_key
from odradek_scheduler.core.state import PENDING, standing

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched


def reserved(touched: "Touched", fact: Reserve, place: tuple[int, int]) -> None:
    """Each open URL asked for becomes a holder while there is a permit, a share of its host while there is one."""
    run = run_id(fact.job, fact.run)
    ledger, counts = touched.ledger(run)
    if fact.version:
        _under_way(touched, fact, place)
        return
    if ledgers.closed_before(ledger, place[0]):
        return
    limit = ledger.host_limit(place[0])
    for fp in fact.fps:
        seen = touched.seen(seen_key(run, fp))
        if seen is None or standing(seen.steps, place).state != PENDING:
            continue
        if counts and not ledger.unarmed and ledger.free_permits > 0 and fp not in ledger.holders:
            ledger.holders.append(fp)
        if limit is not None:
            _share(touched, run, seen.key, fp, limit)


def _under_way(touched: "Touched", fact: Reserve, place: tuple[int, int]) -> None:
    """URLs that a new limit found under way hold permits from now on, whether there are any or not."""
    run = run_id(fact.job, fact.run)
    ledger, counts = touched.ledger(run)
    if not counts or fact.version != ledger.unarmed:
        return
    ledger.unarmed = 0
    for fp in () if ledgers.closed_before(ledger, place[0]) else fact.fps:
        seen = touched.seen(seen_key(run, fp))
        if seen is not None and fp not in ledger.holders and standing(seen.steps, place).state == PENDING:
            ledger.holders.append(fp)


def _share(touched: "Touched", run: str, key: str, fp: str, limit: int) -> None:
    share, counts = touched.share(run, key)
    if counts and fp not in share.holders and share.kept + len(share.holders) < limit:
        share.holders.append(fp)


def share_ended(touched: "Touched", run: str, key: str, fact: Parsed) -> None:
    """A URL of a host with a limit has ended: its share is a kept page, or free again."""
    share, counts = touched.share(run, key)
    if counts:
        share.kept += fact.kept
        if fact.fp in share.holders:
            share.holders.remove(fact.fp)
