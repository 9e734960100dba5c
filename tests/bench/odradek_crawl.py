"""One crawl by the whole of Odradek on embedded engines, with everything on, and what it cost."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.meter import Meter, Used
from tests.bench.products import PRODUCTS
from tests.chaos.cluster import until
from tests.e2e.crawling import catalogue_job

from odradek.cli.rest import Rest
from odradek.contracts import FINAL_STATES
from odradek.engines.stack import Stack, StackOptions
from odradek.kafka.ends import Ends
from odradek.settings import Settings
from odradek.stores.documents import connect_documents
from odradek.stores.items import ITEMS, job_range
from odradek.testing.site import Catalogue
from odradek.topics import GROUPS, LOGS
from odradek.topics import ITEMS as ITEMS_TOPIC

DEADLINE_S = 1800
ASKED_EVERY_S = 1.0
"""What the gateway costs is part of the figures, so it is asked as seldom as a patient client asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawled:
    """What one crawl did and used, from the acceptance of the job (or the start of the crawl) to its last item."""

    pages: int
    items: int
    seconds: float
    used: Used
    balanced: bool = True

    def cpu_ms_per_page(self, *, without: str = "site") -> float:
        """CPU milliseconds of all processes but the site's."""
        return sum(s for name, s in self.used.cpu_s.items() if name != without) / self.pages * 1000


async def crawl(
    catalogue: Catalogue, folder: Path, site: int, environ: Mapping[str, str] | None = None, fetchers: int = 1
) -> Crawled:
    """Start the stack, crawl the catalogue, wait until its last item and its last event are indexed, count both."""
    options = StackOptions(
        folder=folder,
        environ={**os.environ, **(environ or {})},
        fetchers=fetchers,
        overrides={"ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"},
    )
    stack = Stack(options)
    try:
        await stack.start()
        names = tuple(stack.supervisor.ready_s)
        meter = Meter(lambda: {"site": site} | {name: pid for name in names if (pid := stack.supervisor.pid(name))})
        meter.reset()
        with Rest(stack.api_url) as rest:
            began = time.monotonic()
            async with meter.reading():
                job = await _to_its_end(rest, catalogue, Ends(Settings.read(stack.env)))
                seconds = time.monotonic() - began
            standing, audit = rest.get(f"/v1/jobs/{job}"), rest.get(f"/v1/jobs/{job}/audit")
        items = connect_documents(Settings.read(stack.env))[ITEMS].count_documents(job_range(job))
        return Crawled(
            pages=standing["pages"], items=items, seconds=seconds, used=meter.used, balanced=audit["balanced"]
        )
    finally:
        await stack.stop()


async def _to_its_end(rest: Rest, catalogue: Catalogue, ends: Ends) -> str:
    job = str((await asyncio.to_thread(rest.post, "/v1/jobs", catalogue_job(catalogue, extract=[PRODUCTS])))["job_id"])

    async def ended() -> bool:
        state = (await asyncio.to_thread(rest.get, f"/v1/jobs/{job}"))["state"]
        if state not in FINAL_STATES:
            await asyncio.sleep(ASKED_EVERY_S)
        return state in FINAL_STATES

    try:
        await until(ended, DEADLINE_S, lambda: f"job {job} has not ended")
        await until(lambda: asyncio.to_thread(_indexed, ends), DEADLINE_S, lambda: "items or events are not indexed")
    finally:
        ends.close()
    return job


def _indexed(ends: Ends) -> bool:
    """Whether the indexer has written every item and event that there is."""
    return all(ends.passed(GROUPS[topic], topic, ends.end_offsets(topic)) for topic in (ITEMS_TOPIC, LOGS))
