"""Runs that end with a batch, or are open again: cancelled, expired, out of budget, a higher budget."""

from typing import TYPE_CHECKING

from odradek.contracts import RunDue, SkipRest
from odradek_scheduler.core import ledger as ledgers
from odradek_scheduler.core.effects import Effects
from odradek_scheduler.core.keys import run_id
from odradek_scheduler.core.sitemaps import sitemap_run
from odradek_scheduler.core.state import SATED

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched


class Closings:
    """What a batch says of the ends of runs, each with its sitemaps; it takes effect at the end of the batch."""

    def __init__(self) -> None:
        self._closing: dict[str, str] = {}
        self._reached: dict[str, tuple[int, int]] = {}
        self._raised: dict[str, tuple[int, int | None]] = {}

    def close(self, run: str, reason: str) -> None:
        """Everything open in it is skipped; the first reason told counts, a budget's only without another."""
        for each in (run, sitemap_run(run)):
            if self._closing.get(each, SATED) == SATED:
                self._closing[each] = reason

    def close_begun(self, touched: "Touched", fact: RunDue, offset: int) -> None:
        """A run that begins when its job is over ends at once: neither word has to come before the other."""
        job, _ = touched.job(fact.job)
        if job.over is not None and job.over[0] <= offset:
            self.close(run_id(fact.job, fact.run), job.over[1])

    def sate(self, run: str, fact: SkipRest) -> None:
        """The same because its budget is used up."""
        self.close(run, SATED)
        for each in (run, sitemap_run(run)):
            self._reached.setdefault(each, (fact.version, fact.max_pages))

    def limit(self, run: str, version: int, max_pages: int | None) -> None:
        """A limit that may be higher than the one reached."""
        self._raised[run] = (version, max_pages)

    def settle(self, touched: "Touched", effects: Effects) -> None:
        """Close what was told to close, then open what has a higher limit now, unless its job has ended."""
        for run, reason in self._closing.items():
            ledger, counts = touched.ledger(run)
            if counts and ledger.closed_at is None:
                ledgers.close(ledger, effects.offset, reason)
                ledger.closed_for = self._reached.get(run, (0, 0))
            effects.closed.append(run)
        raised = [(each, *said) for run, said in self._raised.items() for each in (run, sitemap_run(run))]
        for run, version, limit in raised:
            ledger, counts = touched.ledger(run)
            closed_version, reached = ledger.closed_for
            if not (counts and ledger.sated and ledger.closed_at != effects.offset and version > closed_version):
                continue
            if self._closing.get(run, SATED) == SATED and (limit is None or limit > reached):
                ledgers.reopen(ledger, effects.offset)
                effects.reopened.append(run)
