"""`max_pages`, exact over the cluster: how the home partition shares permits out, and what it is told (rule F)."""

from typing import Final

from odradek.contracts import PermitsReported
from odradek_scheduler.core.state import Home, Ledger, Share

WINDOW: Final = 256
"""Permits that one partition asks for at a time beyond the pages it has kept, so that all partitions get some."""


def report_heard(home: Home, fact: PermitsReported, partitions: int) -> None:
    """A partition's state: absolute, the newest offset wins. Then whoever wants permits gets what is left."""
    share = home.shares.setdefault(fact.partition, Share())
    if fact.offset < share.offset:
        return
    if fact.offset > share.offset:
        share.offset, share.kept, share.returned = fact.offset, fact.kept, fact.returned
        share.held, share.version = fact.held, fact.version
    share.wanted = fact.wanted
    share_out(home, partitions)


def share_out(home: Home, partitions: int) -> None:
    """Grant what is wanted and available; cumulative, so that a grant told twice is one grant.

    Pages kept and under way while the job had no limit count as if they had had permits. How many those are is known
    when each of the `partitions` has told it.
    """
    if home.max_pages is None or not _all_told(home, partitions):
        return
    left = home.max_pages - sum(map(_used, home.shares.values()))
    for _, share in sorted(home.shares.items()):
        used = _used(share)
        add = min(share.wanted - used, left)
        if add > 0:
            share.granted = share.returned + used + add
            left -= add


def _all_told(home: Home, partitions: int) -> bool:
    return not home.since or sum(share.version >= home.since for share in home.shares.values()) == partitions


def _used(share: Share) -> int:
    return max(share.granted - share.returned, share.kept + share.held)


def reached(home: Home) -> bool:
    """True when the pages kept are as many as wanted: the rest is to be skipped."""
    return home.max_pages is not None and home.kept >= home.max_pages


def wanted(ledger: Ledger) -> int:
    """Permits that the partition could use in all: those of kept pages, and some for its open URLs."""
    return ledger.kept + min(ledger.pending, WINDOW)
