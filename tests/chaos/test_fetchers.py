"""Fetchers alone, on Apache Kafka: adding them makes a crawl faster, killing them loses nothing.

The requests lie in `scheduled` beforehand, so nothing but the fetchers decides how fast they are carried out. What they
give back is sent again as a scheduler would, unless it was answered all the same.
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
from typing import Self

import msgspec
import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.embedded import kafka

from odradek.clock import now_ms
from odradek.contracts import GIVEN_BACK, Batch, Fetched, FetchRequest, JobRecord, decode, encode
from odradek.kafka.admin import apply_topics
from odradek.kafka.client import consumer_config
from odradek.kafka.ends import Ends
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Send, record_of
from odradek.settings import Settings
from odradek.testing.broker import everything_in
from odradek.testing.site import Catalogue, Site
from odradek.topics import FRONTIER, JOBS, PAGES, SCHEDULED
from odradek.urls import CrawlUrl, identify

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

FULL = os.environ.get("CHAOS_FETCHERS") == "full"
CONCURRENCY = 8
LATENCY_S = 0.2
WINDOW = 3 * CONCURRENCY + 64
"""Requests that one fetcher has in hand."""
BEGUN = 2 * CONCURRENCY
"""Of these, what may have reached a site without anybody having been told: under way, and being told."""


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


class Frontier:
    """In the place of schedulers: lays requests for URLs into Kafka, and sends again what is given back."""

    def __init__(self, settings: Settings, urls: Iterable[str]) -> None:
        self._settings = settings
        self._producer = StageProducer(settings)
        self._open = {request.fp: request for request in map(a_request_for, urls)}
        self.given_back = 0
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._producer.send([Send(JOBS, "job", encode(JobRecord(job="job", spec={})), partition=0)])
        await self._producer.send([_sent(request) for request in self._open.values()])
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await asyncio.to_thread(self._producer.close)

    async def _read(self) -> None:
        consumer = Consumer(consumer_config(self._settings, "frontier"))
        topic = self._settings.topic(FRONTIER)
        consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in range(self._settings.partitions)])
        try:
            while True:
                messages = await asyncio.to_thread(consumer.consume, 500, 0.05)
                facts = [fact for each in messages for fact in decode(Batch, record_of(each).value or b"").facts]
                await self._hear([fact for fact in facts if isinstance(fact, Fetched)])
        finally:
            consumer.close()

    async def _hear(self, facts: list[Fetched]) -> None:
        again = []
        for fact in facts:
            request = self._open.get(fact.fp)
            if request is None:
                continue
            if fact.reason not in GIVEN_BACK:
                del self._open[fact.fp]
            elif fact.sent_at_ms == request.sent_at_ms:
                self._open[fact.fp] = msgspec.structs.replace(request, sent_at_ms=request.sent_at_ms + 1)
                again.append(_sent(self._open[fact.fp]))
        self.given_back += len(again)
        if again:
            await self._producer.send(again)


def a_request_for(url: str) -> FetchRequest:
    found = identify(url)
    assert isinstance(found, CrawlUrl)
    now = now_ms()
    return FetchRequest(
        job="job", url=found.url, fp=found.fp, key=found.key, sent_at_ms=now, lease_until_ms=now + 3_600_000
    )


def _sent(request: FetchRequest) -> Send:
    return Send(SCHEDULED, request.fp, encode(request))


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
            async with (
                small_site(pages, hosts) as site,
                Frontier(settings, map(site.catalogue.url, range(pages))),
            ):
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
        async with Frontier(settings, map(site.catalogue.url, range(pages))) as frontier:
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
    print(f"{said}, {frontier.given_back} given back; {kills * WINDOW} were in the windows")  # noqa: T201  (figures)
    assert len(copies) == pages, "each page is stored"
    assert len(stored) - pages <= fetched_twice <= kills * BEGUN


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
