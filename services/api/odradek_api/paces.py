"""Keeps the pace of every running job from its reports, once a second."""

import asyncio
import time
from typing import Any

from odradek_api.core.rates import Pace
from odradek_api.core.standing import Standing
from odradek_api.gateway import Gateway

EVERY_S = 1.0


class Paces:
    """The pace of each job that was looked at or is running."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    def of(self, job: str, standing: Standing) -> dict[str, Any]:
        """Rate, ETA and limiting reason for a job's standing."""
        pace = self._paces.get(job) or Pace()
        reports = [report for report in standing.reports if report.counters.pending]
        limiting = next((report.limiting for report in reports if report.limiting), None)
        running = standing.state == "running"
        return {
            "pages_per_s": round(pace.pages_per_s(), 1) if running else 0.0,
            "eta_s": pace.eta_s(standing.counters.pending) if running else None,
            "limiting_reason": limiting if running else None,
        }

    async def keep(self, gateway: Gateway) -> None:
        """Note readings until cancelled."""
        while True:
            for record in gateway.records.all():
                standing = gateway.standing(record.job)
                if standing.state == "running":
                    ledger = standing.counters
                    pace = self._paces.setdefault(record.job, Pace())
                    pace.note(time.monotonic(), ledger.kept, ledger.accepted - ledger.pending)
                else:
                    self._paces.pop(record.job, None)
            await asyncio.sleep(EVERY_S)
