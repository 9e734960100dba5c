"""How many URLs a run knows on each host, and how many of them are open: for jobs that have a deadline."""

from typing import TYPE_CHECKING

import msgspec

from odradek_scheduler.core.state import Ledger

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched


class HostCount(msgspec.Struct, array_like=True):
    """One host of a run."""

    offset: int = -1
    urls: int = 0
    open: int = 0


def counts_key(run: str) -> bytes:
    """What the keys of all hosts of a run begin with."""
    return f"W\0{run}\0".encode()


def changed(touched: "Touched", ledger: Ledger, place: tuple[str, str], *, urls: int = 0, opened: int) -> None:
    """So many more URLs are known, and open, at a place (run, host); nothing where the run does not count hosts."""
    if not ledger.by_host:
        return
    run, key = place
    count, counts = touched.value(HostCount, counts_key(run) + key.encode())
    if counts:
        count.urls += urls
        count.open += opened
