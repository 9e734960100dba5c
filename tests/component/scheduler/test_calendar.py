"""A shop whose changes are known beforehand, crawled every day by the real cores of all services, its clock simulated.

`CALENDAR_DAYS` (10) and `CALENDAR_PAGES` (40) say for how long, and how many pages there are; `-s` prints the figures.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.component.indexer.fakes import KnownJobs, MemoryCollection
from tests.component.indexer.test_items import changes, indexing
from tests.unit.scheduler.harness import NOW_MS, Crawl, a_job

from odradek.contracts import PAGE_HEADER, Discovered, FetchRequest, JobRecord, Reached, RunFigures, encode
from odradek.kafka.records import Done, Poison, Record
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.core.answers import Answer, Headers
from odradek_fetcher.core.facts import digest, fetched, page_meta
from odradek_fetcher.core.plans import Plan, plan
from odradek_fetcher.core.verdicts import judge
from odradek_parser.handling import Handler
from odradek_parser.jobs import Readers

DAYS = int(os.environ.get("CALENDAR_DAYS", "10"))
PAGES = int(os.environ.get("CALENDAR_PAGES", "40"))
DAY_MS = 86_400_000
SITE = "https://shop.example"
RULE = {"type": "product", "each": "article", "key": ["sku"],
        "fields": {"sku": {"css": "&", "attr": "data-sku"}, "price": {"css": "b"}}}  # fmt: skip
POLITENESS = {"respect_robots": False, "delay": 0.0, "concurrency_per_host": 100}


def the_url(text: str) -> CrawlUrl:
    found = identify(text)
    assert isinstance(found, CrawlUrl)
    return found


class Calendar:
    """On which day which pages change: one in ten every day, two in ten about once a week, the others hardly ever."""

    def __init__(self, seed: int = 7) -> None:
        rng = random.Random(seed)
        rate = [1.0 if page % 10 == 1 else 1 / 7 if page % 10 < 4 else 1 / 60 for page in range(PAGES)]
        rate[0] = 0.0
        self.changes = [{page for page in range(PAGES) if rng.random() < rate[page]} for _ in range(DAYS)]

    @property
    def total(self) -> int:
        return sum(map(len, self.changes[1:]))


@dataclass
class Shop:
    """The site as it is now."""

    versions: list[int] = field(default_factory=lambda: [1] * PAGES)
    changed_ms: dict[int, int] = field(default_factory=dict)
    requests: int = 0
    bytes: int = 0

    def answer(self, request: FetchRequest) -> Answer:
        self.requests += 1
        if request.url.endswith("/sitemap.xml"):
            return self._whole(request, self._sitemap(), "application/xml", None)
        page = int(request.url.rsplit("/", 1)[1])
        etag = f'"{page}-{self.versions[page]}"' if page % 2 == 0 else None
        if etag is not None and request.etag == etag:
            return Answer(url=request.url, status=304, headers=Headers([("etag", etag)]), body=None)
        links = "".join(f'<a href="/{each}">x</a>' for each in (2 * page + 1, 2 * page + 2) if each < PAGES)
        text = f"<p>{'filler ' * 300}</p>{links}<article data-sku={page}><b>{self.versions[page]}</b></article>"
        return self._whole(request, text, "text/html", etag)

    def _whole(self, request: FetchRequest, text: str, kind: str, etag: str | None) -> Answer:
        self.bytes += len(text)
        headers = [("content-type", kind), *([("etag", etag)] if etag else [])]
        return Answer(url=request.url, status=200, headers=Headers(headers), body=text.encode())

    def _sitemap(self) -> str:
        times = {page: datetime.fromtimestamp(at_ms / 1000, UTC).isoformat() for page, at_ms in self.changed_ms.items()}
        rows = "".join(f"<url><loc>{SITE}/{page}</loc><lastmod>{at}</lastmod></url>" for page, at in times.items())
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'


class Days:
    """One job, day after day, through scheduler, fetcher, parser and indexer."""

    def __init__(self, *seeds: str, **schedule: Any) -> None:
        self.shop, self.crawl, self.collection = Shop(), Crawl(), MemoryCollection()
        spec = JobSpecification.parse({"seeds": [SITE + seed for seed in seeds], "extract": [RULE],
                                       "politeness": POLITENESS, "schedule": {"every": "1d", **schedule}})  # fmt: skip
        wire = spec.to_wire()
        self.job = JobRecord(job="j", spec=wire)
        self.plan: Plan = plan(spec, user_agent="odradek", environ={})
        self.parser = Handler(self._known, Readers(product="odradek", plugins=()), clock=lambda: self.crawl.now_ms)
        self.indexer = indexing(self.collection, KnownJobs(j=wire))
        self.crawl.fold(a_job(**{name: value for name, value in wire.items() if name != "seeds"}))
        found = [the_url(seed.url) for seed in spec.seeds]
        self.crawl.fold(*(Discovered(job="j", url=url.url, fp=url.fp, key=url.key, seed=True) for url in found))
        self.parses = 0
        self.run = 1

    async def _known(self, _: FetchRequest) -> JobRecord:
        return self.job

    async def day(self) -> set[int]:
        """One run to its end; the pages that the change feed told of."""
        told: set[int] = set()
        while requests := self.crawl.dispatch():
            for request in requests:
                told |= await self._through(request)
        report = self.crawl.core.progress(self.crawl.now_ms)[-1]
        assert (report.counters.pending, report.run, report.renewing) == (0, self.run, False)
        reached = Reached(job="j", state="complete", epoch=1, run=self.run, at_ms=self.crawl.now_ms,
                          indexed_at_ms=self.crawl.now_ms, figures=RunFigures())  # fmt: skip
        self.crawl.core.ended(reached)
        self.crawl.dispatch()
        self.run += 1
        self.crawl.now_ms = NOW_MS + (self.run - 1) * DAY_MS
        return told

    async def _through(self, request: FetchRequest) -> set[int]:
        answer = self.shop.answer(request)
        body_digest = None if answer.body is None else digest(answer.body)
        verdict = judge(request, self.plan, answer, body_digest=body_digest)
        kept = verdict.outcome == "fetched"
        page = page_meta(request, self.plan, answer, verdict, now_ms=self.crawl.now_ms, delays_s=(),
                         body_digest=body_digest if kept else None)  # fmt: skip
        self.crawl.fold(fetched(page))
        self.parses += kept
        record = Record("odradek.pages", 0, 0, b"", answer.body if kept else None, ((PAGE_HEADER, encode(page)),))
        [done] = await self.parser.handle([record])
        return await self._parsed(done)

    async def _parsed(self, done: Done | Poison) -> set[int]:
        sent = [send for stage in done.stages for send in stage.sends if send.topic == "items"]
        for stage in done.stages:
            self.crawl.fold(*(each.fact for each in stage.facts))
            if stage.acknowledged is not None:
                stage.acknowledged()
        records = [Record("odradek.items", 0, place, send.key.encode(), send.value) for place, send in enumerate(sent)]
        told = changes(await self.indexer(records)) if records else []
        return {int(each.url.rsplit("/", 1)[1]) for each in told if each.change == "changed"}


async def crawled(days: Days, calendar: Calendar) -> tuple[Counter[str], list[set[int]]]:
    """Figures without the first day, which is the same for all, and what was told of on each day."""
    await days.day()
    days.shop.requests = days.shop.bytes = days.parses = 0
    told = []
    for today in range(1, DAYS):
        for page in calendar.changes[today]:
            days.shop.versions[page] += 1
            days.shop.changed_ms[page] = days.crawl.now_ms - 3_600_000
        told.append(await days.day())
    return Counter(requests=days.shop.requests, parses=days.parses, bytes=days.shop.bytes), told


def say(name: str, figures: Counter[str], whole: Counter[str], found: int, calendar: Calendar) -> None:
    saved = {
        key: f"{figures[key]:,} ({1 - figures[key] / whole[key]:.0%} saved)" for key in ("requests", "parses", "bytes")
    }
    print(f"{name}: {saved}, {found} of {calendar.total} changes found the same day")  # noqa: T201  (figures of the test)


@pytest.mark.filterwarnings("ignore::bs4.XMLParsedAsHTMLWarning")
async def test_every_change_is_found_in_the_next_run_and_the_rest_is_saved() -> None:
    calendar = Calendar()
    expected = calendar.changes[1:]

    whole, told = await crawled(Days("/0", conditional=False), calendar)
    assert told == expected
    say("everything again", whole, whole, calendar.total, calendar)

    figures, told = await crawled(Days("/0"), calendar)
    say("conditional", figures, whole, sum(map(len, told)), calendar)
    assert told == expected
    assert figures["parses"] == calendar.total
    assert figures["requests"] == whole["requests"] == (DAYS - 1) * PAGES

    figures, told = await crawled(Days("/0", adaptive="30d"), calendar)
    same_day = sum(len(found & changed) for found, changed in zip(told, expected, strict=True))
    say("adaptive", figures, whole, same_day, calendar)
    assert figures["requests"] < 0.8 * whole["requests"]
    assert all(1 + 10 * tenth in found for found in told for tenth in range(PAGES // 10)), "daily pages every day"

    figures, told = await crawled(Days("/0", "/sitemap.xml", adaptive="30d"), calendar)
    say("adaptive with a sitemap", figures, whole, sum(map(len, told)), calendar)
    assert told == expected
    assert figures["requests"] < 0.8 * whole["requests"]
