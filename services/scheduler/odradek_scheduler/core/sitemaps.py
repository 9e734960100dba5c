"""Sitemaps of a job: URLs of a ledger of their own, run -n of run n, so that what holds for pages holds for them.

They are neither in the job's counters nor under its limits; completion waits for them (rules G, J). A job that comes
upon an origin whose robots.txt names sitemaps says so in its own log; consuming that hands each to the partition of
its host, at least once, before the batch is committed.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from odradek.contracts import OUTCOME_FIELDS, Discovered, SitemapsListed
from odradek.urls import CrawlUrl, identify, partition_of
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.keys import run_id, split_run_id
from odradek_scheduler.core.state import Ledger

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

MOST_LISTED: Final = 1_000
"""Of one robots.txt."""
MOST_READ: Final = 10_000
"""Sitemaps of a job that one partition reads; further ones are skipped."""
PRIORITY: Final = 50


class Listing(msgspec.Struct, array_like=True):
    """The sitemaps of one origin were handed to a job and run."""

    offset: int = -1
    sitemaps: int = 0
    """How many."""


def listing_key(run: str, key: str, origin: str) -> bytes:
    """Key in `ledger` of the note that an origin's sitemaps were handed over."""
    return f"T\0{run}\0{key}\0{origin}".encode()


def sitemap_run(run: str) -> str:
    """The run that keeps the sitemaps of a run."""
    job, number = split_run_id(run)
    return run_id(job, -number)


def is_sitemap_run(run: str) -> bool:
    """True for a run of sitemaps."""
    return run[run.rindex("\0") + 1] == "-"


def listed(touched: "Touched", run: str, fact: SitemapsListed, partitions: int) -> list[ToPartition]:
    """The note that they were handed over, and the sitemaps for the partitions of their hosts."""
    listing, counts = touched.value(Listing, listing_key(run, fact.key, fact.origin))
    if counts:
        listing.sitemaps = len(fact.sitemaps)
    found = [each for url in fact.sitemaps if isinstance(each := identify(url), CrawlUrl)]
    return [
        ToPartition(
            partition_of(url.key, partitions),
            Discovered(
                job=fact.job, url=url.url, fp=url.fp, key=url.key, run=-fact.run, priority=PRIORITY,
                via=f"{fact.origin}/robots.txt", site=fact.site,
            ),
        )
        for url in found
    ]  # fmt: skip


def standing_of(ledger: Ledger) -> dict[str, int]:
    """What became of a job's sitemaps here; empty when it has none."""
    names = ("accepted", "pending", *OUTCOME_FIELDS)
    return {name: count for name in names if (count := getattr(ledger, name))} if ledger.accepted else {}
