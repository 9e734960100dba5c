"""Keeps two figures of every recurring job for /metrics: how many of its items are fresh, and how old the oldest is."""

import asyncio
import time
from typing import Final

import structlog
from prometheus_client import Gauge

from odradek.clock import now_ms
from odradek.contracts import CLOSED
from odradek_api.core.problems import Problem
from odradek_api.ports import Results
from odradek_api.records import Records

EVERY_S: Final = 60.0
COST: Final = 0.02
"""Share of the time that asking the store may take."""
WITHIN_S: Final = 86_400.0
FRESH: Final = Gauge(
    "odradek_job_fresh_items_ratio", "Share of a recurring job's items that were seen in the last 24 hours.", ["job"]
)
OLDEST: Final = Gauge(
    "odradek_job_oldest_item_seconds",
    "Time since the item of a recurring job was seen that was not for longest.",
    ["job"],
)
log = structlog.get_logger()


async def keep_fresh_figures(records: Records, results: Results) -> None:
    """Ask the store now and then, one job after the other, until cancelled."""
    known: set[str] = set()
    while True:
        began = time.monotonic()
        recurring = {
            each.job for each in records.each() if each.spec.get("schedule") is not None and each.wanted not in CLOSED
        }
        for job in known - recurring:
            for gauge in (FRESH, OLDEST):
                gauge.remove(job)
        known = recurring
        for job in recurring:
            await _ask(job, results)
        await asyncio.sleep(max(EVERY_S, (time.monotonic() - began) / COST))


async def _ask(job: str, results: Results) -> None:
    try:
        found = await asyncio.to_thread(results.freshness, job, WITHIN_S, now_ms())
    except Problem as problem:
        log.warning("freshness_unknown", job=job, error=problem.detail)
        return
    FRESH.labels(job).set(found["share"] or 0.0)
    OLDEST.labels(job).set(found["oldest_age_s"] or 0.0)
