"""Keeps the pace of every running job, and how it went so far, from its reports, once a second."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import Gauge

from odradek.clock import now_ms
from odradek_api.core.limiting import Running, limiting_reason
from odradek_api.core.rates import Pace
from odradek_api.core.standing import Standing
from odradek_api.core.trends import Point, Trend
from odradek_api.gateway import Gateway

EVERY_S = 1.0
MOST_TRENDS: Final = 300
"""Jobs whose trend is kept, those that ran last; one takes about 50 KB."""
RUNNING: Final = Gauge("odradek_jobs_running", "Jobs that run.")
STILL: Final = Gauge(
    "odradek_job_still_seconds", "Time since a running job last finished a URL: of the one for which it is longest."
)


class Paces:
    """The pace of each job that was looked at or is running."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}
        self._trends: OrderedDict[str, Trend] = OrderedDict()
        self.running: Running = {}
        """Processes by service, as they were counted last."""

    def of(self, job: str, standing: Standing) -> dict[str, Any]:
        """Rate, ETA and limiting reason for a job's standing."""
        pace = self._paces.get(job) or Pace()
        running = standing.state == "running"
        return {
            "pages_per_s": round(pace.pages_per_s(), 1) if running else 0.0,
            "eta_s": pace.eta_s(standing.counters.pending) if running else None,
            "limiting_reason": limiting_reason(standing, self.running),
        }

    def trend(self, job: str) -> list[Point] | None:
        """Running totals over the life of a job; None: it did not run under this gateway, or too long ago."""
        trend = self._trends.get(job)
        return None if trend is None else trend.told()

    def rates(self, job: str, most: int) -> list[float]:
        """Pages a second over the newest readings of a job's trend, oldest first."""
        trend = self._trends.get(job)
        return [] if trend is None else trend.rates(most)

    def note(self, job: str, standing: Standing, now_s: float, at_ms: int) -> None:
        """Another reading of a running job, or the last one of a job that ran until now."""
        ledger = standing.counters
        if standing.state == "running":
            self._paces.setdefault(job, Pace()).note(now_s, ledger.kept, ledger.accepted - ledger.pending)
        else:
            self._paces.pop(job, None)
        self._trends.setdefault(job, Trend()).note(at_ms, ledger)
        self._trends.move_to_end(job)
        if len(self._trends) > MOST_TRENDS:
            self._trends.popitem(last=False)

    def still_s(self, now_s: float) -> float:
        """The longest time for which a running job has finished no URL; 0: none runs."""
        return max((now_s - pace.moved_at_s for pace in self._paces.values()), default=0.0)

    async def keep(self, gateway: Gateway, ready: Callable[[], str | None]) -> None:
        """Note readings until cancelled, once the views are read: while they are, jobs long over seem to run."""
        while True:
            for record in gateway.records.all() if ready() is None else ():
                if record.job in self._paces or gateway.state(record) == "running":
                    self.note(record.job, gateway.standing(record.job), time.monotonic(), now_ms())
            RUNNING.set(len(self._paces))
            STILL.set(self.still_s(time.monotonic()))
            await asyncio.sleep(EVERY_S)
