"""A job whose pages only a sitemap names: the real scheduler core, the real parser, and a site in memory."""

import gzip
from zlib import crc32

import pytest
from tests.unit.scheduler.harness import Crawl

from odradek.contracts import (
    PAGE_HEADER,
    Discovered,
    Fetched,
    FetchRequest,
    JobChanged,
    JobRecord,
    PageMeta,
    Reached,
    RobotsFetched,
    encode,
)
from odradek.kafka.records import Done, Record
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify
from odradek_parser.handling import Handler
from odradek_parser.jobs import Readers
from odradek_scheduler.core.completion import Completion

HOST = "https://shop.example"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGES = 1_500


def a_sitemap(part: int) -> bytes:
    urls = "".join(
        f"<url><loc>{HOST}/p{part}-{number}</loc><lastmod>2024-05-0{part}</lastmod></url>"
        for number in range(PAGES // 3)
    )
    return f"<urlset {NAMESPACE}>{urls}<url><loc>https://elsewhere.example/</loc></url></urlset>".encode()


class Site:
    """What each URL answers; whatever else is asked for is a page."""

    def __init__(self) -> None:
        parts = "".join(f"<sitemap><loc>{HOST}/map{part}.xml.gz</loc></sitemap>" for part in (1, 2))
        self.answers = {
            f"{HOST}/index.xml": f"<sitemapindex {NAMESPACE}>{parts}</sitemapindex>".encode(),
            f"{HOST}/map1.xml.gz": gzip.compress(a_sitemap(1)),
            f"{HOST}/map2.xml.gz": gzip.compress(a_sitemap(2)),
            "https://cdn.example/map3.xml": a_sitemap(3),
        }
        self.asked: dict[str, int] = {}

    def body(self, url: str) -> bytes:
        self.asked[url] = self.asked.get(url, 0) + 1
        return self.answers.get(url, f"<h1>{crc32(url.encode())}</h1><a href='/not-named'>x</a>".encode())


ROBOTS = {
    "shop.example": f"Sitemap: {HOST}/index.xml\nSitemap: https://cdn.example/map3.xml\n",
    "cdn.example": "",
}


class Whole:
    """Scheduler core and parser side by side; what one says the other hears at once."""

    def __init__(self, spec: JobSpecification) -> None:
        self.site, self.crawl = Site(), Crawl()
        self.record = JobRecord(job="j", spec=spec.to_wire(), seeded=True)
        self.parser = Handler(self._job_of, Readers(product="odradek", plugins=()))
        self.completion = Completion("j", 1)
        self.completion.record_changed(self.record)
        seed = identify(f"{HOST}/")
        assert isinstance(seed, CrawlUrl)
        found = Discovered(job="j", url=seed.url, fp=seed.fp, key=seed.key, seed=True, site="shop.example")
        self.crawl.fold(JobChanged(job="j", version=1, epoch=1, spec=spec.to_wire()), found)

    async def _job_of(self, request: FetchRequest) -> JobRecord:
        return self.record

    async def to_the_end(self) -> Reached | None:
        crawl = self.crawl
        while requests := crawl.dispatch():
            reached = self.reached()
            assert reached is None, f"complete before {requests[0].url} was fetched"
            for request in requests:
                await self._carry_out(request)
        return self.reached()

    async def _carry_out(self, request: FetchRequest) -> None:
        crawl = self.crawl
        if request.kind == "robots":
            host = request.url.split("/")[2]
            crawl.fold(
                RobotsFetched(
                    key=request.key, origin=f"https://{host}", status=200, text=ROBOTS[host], at_ms=crawl.now_ms
                )
            )
            return
        body = self.site.body(request.url)
        meta = PageMeta(request=request, outcome="fetched", fetched_at_ms=crawl.now_ms, status=200,
                        content_type="text/html" if request.kind == "page" else "application/xml")  # fmt: skip
        crawl.fold(
            Fetched(job="j", fp=request.fp, key=request.key, kind=request.kind, status=200,
                    attempt=request.attempt, sent_at_ms=request.sent_at_ms, at_ms=crawl.now_ms)
        )  # fmt: skip
        record = Record("pages", 0, 0, request.fp.encode(), body, ((PAGE_HEADER, encode(meta)),))
        (done,) = await self.parser.handle([record])
        assert isinstance(done, Done)
        for stage in done.stages:
            if stage.facts:
                crawl.fold(*(each.fact for each in stage.facts))
            if stage.acknowledged is not None:
                stage.acknowledged()

    def reached(self) -> Reached | None:
        for report in self.crawl.core.progress(self.crawl.now_ms):
            self.completion.reported(report)
        while (need := self.completion.needs(self.crawl.now_ms)) is not None:
            frontier = {0: self.crawl.offset} if need.topic == "frontier" else {}
            self.completion.answered(need, frontier)
            if self.completion.needs(self.crawl.now_ms) == need:
                break
        return self.completion.reached(self.crawl.now_ms)


def a_job(**scope: object) -> JobSpecification:
    politeness = {"delay": "0s", "concurrency_per_host": 100}
    return JobSpecification.parse({"scope": {"follow_links": False, **scope}, "politeness": politeness})


async def test_a_job_that_only_a_sitemap_feeds_reads_all_of_it_once_before_it_is_complete() -> None:
    whole = Whole(a_job())
    reached = await whole.to_the_end()

    assert reached is not None
    assert reached.state == "complete"
    ledger = whole.crawl.ledger()
    assert (ledger.accepted, ledger.fetched, ledger.kept, ledger.pending) == (PAGES + 1, PAGES + 1, PAGES + 1, 0)
    assert (ledger.links_found, ledger.refused) == (PAGES + 1, 0)
    assert set(whole.site.asked.values()) == {1}
    mapped = whole.crawl.ledger(run=-1)
    assert (mapped.accepted, mapped.fetched, mapped.reasons) == (4, 4, {"refused": {"scope": 3}})


async def test_what_a_sitemap_said_of_a_page_is_kept_with_it() -> None:
    whole = Whole(a_job())
    await whole.to_the_end()
    found = identify(f"{HOST}/p2-7")
    assert isinstance(found, CrawlUrl)
    seen = whole.crawl.seen(found.fp)
    assert (seen.lastmod, seen.depth, seen.via) == ("2024-05-02", 1, f"{HOST}/map2.xml.gz")


@pytest.mark.parametrize("scope", [{"sitemaps": False}, {"max_depth": 0}])
async def test_a_job_can_do_without(scope: dict[str, object]) -> None:
    whole = Whole(a_job(**scope))
    await whole.to_the_end()
    assert whole.crawl.ledger().fetched == 1
