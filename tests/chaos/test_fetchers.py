"""Fetchers alone, on Apache Kafka: adding them makes a crawl faster, killing them loses nothing.

The requests lie in `scheduled` beforehand, so nothing but the fetchers decides how fast they are carried out.
`CHAOS_FETCHERS=full` runs them at full size: more pages, a single host as well, 20 kills, the full figures asserted.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from tests.embedded import kafka

from odradek.clock import now_ms
from odradek.contracts import FetchRequest, JobRecord, encode
from odradek.kafka.admin import apply_topics
from odradek.kafka.ends import Ends
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import everything_in
from odradek.testing.site import Catalogue, Site
from odradek.topics import JOBS, PAGES, SCHEDULED
from odradek.urls import CrawlUrl, identify

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

FULL = os.environ.get("CHAOS_FETCHERS") == "full"
CONCURRENCY = 8
LATENCY_S = 0.2
WINDOW = 3 * CONCURRENCY + 64
"""Requests that one fetcher has in hand."""


@asynccontextmanager
async def small_site(pages: int, hosts: int) -> AsyncIterator[Site]:
    """Pages of 2 KB, each answered after 200 ms."""
    catalogue = Catalogue(pages=pages, hosts=hosts, port=0, cards=1, words_per_card=10, far_links=0)
    async with Site(catalogue, latency_s=LATENCY_S) as site:
        yield site


class Idle:
    """Share of the machine that was idle since this was made."""

    def __init__(self) -> None:
        self._before = psutil.cpu_times()

    def __str__(self) -> str:
        now = psutil.cpu_times()
        idle = now.idle + now.iowait - self._before.idle - self._before.iowait
        return f"{idle / (sum(now) - sum(self._before)):.0%}"


class Fleet:
    """Fetcher processes."""

    def __init__(self, settings: Settings, logs: Path) -> None:
        self._settings, self._log = settings, logs
        self.processes: list[asyncio.subprocess.Process] = []

    async def add(self, count: int = 1) -> None:
        own = {
            "ODRADEK_KAFKA_BOOTSTRAP": self._settings.kafka_bootstrap,
            "ODRADEK_TOPIC_PREFIX": self._settings.topic_prefix,
            "ODRADEK_FETCH_CONCURRENCY": str(CONCURRENCY),
            "ODRADEK_ALLOW_PRIVATE_NETWORKS": "true",
            "ODRADEK_SESSION_TIMEOUT": "6s",
        }
        with self._log.open("ab") as log:
            for _ in range(count):
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "odradek_fetcher", env=os.environ | own, stderr=log
                )
                self.processes.append(process)

    async def kill_one(self) -> None:
        process = self.processes.pop(random.randrange(len(self.processes)))
        process.kill()
        await process.wait()

    async def stop(self) -> list[int]:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        return [await process.wait() for process in self.processes]


async def scheduled(settings: Settings, urls: Iterable[str]) -> None:
    """Lay requests for these into Kafka."""
    producer = StageProducer(settings)
    lease_ms = now_ms() + 3_600_000
    await producer.send([Send(JOBS, "job", encode(JobRecord(job="job", spec={})), partition=0)])
    sends = []
    for url in urls:
        found = identify(url)
        assert isinstance(found, CrawlUrl)
        request = FetchRequest(job="job", url=found.url, fp=found.fp, key=found.key, lease_until_ms=lease_ms)
        sends.append(Send(SCHEDULED, request.fp, encode(request)))
    await producer.send(sends)
    await asyncio.to_thread(producer.close)


async def answered(site: Site, count: int, within_s: float = 240) -> float:
    """Wait until the site has answered so many different pages; returns the instant."""
    deadline = time.monotonic() + within_s
    while len(site.seen.pages()) < count:
        assert time.monotonic() < deadline, f"{len(site.seen.pages())} of {count} pages"
        await asyncio.sleep(0.02)
    return time.monotonic()


@pytest.mark.parametrize("hosts", [20, 1] if FULL else [20])
async def test_more_fetchers_fetch_more(tmp_path: Path, hosts: int) -> None:
    speeds = {}
    async with kafka(tmp_path) as address:
        for count in (1, 2, 4):
            settings = Settings(
                kafka_bootstrap=address, topic_prefix=f"with-{count}.", partitions=12, session_timeout=6
            )
            await asyncio.to_thread(apply_topics, settings)
            pages = (700 if FULL else 200) * count + 200
            async with small_site(pages, hosts) as site:
                await scheduled(settings, map(site.catalogue.url, range(pages)))
                fleet = Fleet(settings, tmp_path / "fetchers.log")
                await fleet.add(count)
                begun = await answered(site, 100 * count)
                idle = Idle()
                ended = await answered(site, pages - 100)
                speeds[count] = (pages - 100 - 100 * count) / (ended - begun)
                size = len(site.catalogue.body(1))
                said = (
                    f"{count} fetchers, {hosts} hosts: {speeds[count]:.1f} pages/s of {size} bytes, machine idle {idle}"
                )
                print(said)  # noqa: T201  (figures)
                assert await fleet.stop() == [0] * count
    print(f"{hosts} hosts: {speeds[2] / speeds[1]:.2f} and {speeds[4] / speeds[1]:.2f} times")  # noqa: T201  (figures)
    assert speeds[2] > (1.8 if FULL else 1.5) * speeds[1]
    assert speeds[4] > (3.2 if FULL else 2.5) * speeds[1]


async def test_killing_one_of_four_again_and_again_loses_nothing(tmp_path: Path) -> None:
    kills = 20 if FULL else 6
    pages = 1000 + 400 * kills
    async with kafka(tmp_path) as address, small_site(pages, hosts=20) as site:
        settings = Settings(kafka_bootstrap=address, partitions=12, session_timeout=6)
        await asyncio.to_thread(apply_topics, settings)
        await scheduled(settings, map(site.catalogue.url, range(pages)))
        fleet = Fleet(settings, tmp_path / "fetchers.log")
        await fleet.add(4)
        await answered(site, 200)
        for number in range(kills):
            await answered(site, 200 + number * 400)
            await fleet.kill_one()
            await fleet.add()
        await answered(site, pages)
        await committed_all(settings)
        assert await fleet.stop() == [0] * 4
        stored = await asyncio.to_thread(everything_in, settings, PAGES, at_least=pages)
    copies = Counter(record.key for record in stored)
    fetched_twice = sum(site.seen.pages().values()) - pages
    said = f"{kills} kills, {pages} pages: {fetched_twice} fetched twice, {len(stored) - pages} stored twice"
    print(f"{said}; at most {kills * WINDOW} by the window of {WINDOW} requests")  # noqa: T201  (figures)
    assert len(copies) == pages, "each page is stored"
    assert len(stored) - pages <= fetched_twice <= kills * WINDOW


async def committed_all(settings: Settings, within_s: float = 60) -> None:
    ends = Ends(settings)
    deadline = time.monotonic() + within_s
    try:
        while not await asyncio.to_thread(
            ends.passed, "fetcher", SCHEDULED, await asyncio.to_thread(ends.end_offsets, SCHEDULED)
        ):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
    finally:
        await asyncio.to_thread(ends.close)
