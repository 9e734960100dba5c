"""The whole service against a broker and a site in this process: requests in, pages and facts out."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from odradek.clock import now_ms
from odradek.contracts import (
    PAGE_HEADER,
    Batch,
    Fetched,
    FetchRequest,
    JobRecord,
    LogEvent,
    PageMeta,
    Parsed,
    RobotsFetched,
    decode,
    encode,
)
from odradek.kafka.records import Record, Send
from odradek.settings import Settings
from odradek.testing import hostile_cases  # noqa: F401  (fills the sheet)
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.testing.hostile import SHEET, HostileSite
from odradek.testing.records import a_request
from odradek.testing.site import Catalogue, Site
from odradek.topics import DEAD_LETTERS, FRONTIER, JOBS, LOGS, PAGES, SCHEDULED
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.metrics import OPEN
from odradek_fetcher.service import serve


@pytest.fixture
def settings() -> Iterator[Settings]:
    with MockBroker() as broker:
        yield broker.settings(allow_private_networks="true", drain="5s", retry_delays="7s")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(Catalogue(pages=50, hosts=1, port=0)) as site:
        yield site


def request_for(url: str, **changes: object) -> FetchRequest:
    found = identify(url)
    assert isinstance(found, CrawlUrl)
    fields = {"url": found.url, "fp": found.fp, "key": found.key, "lease_until_ms": now_ms() + 60_000} | changes
    return a_request(**fields)


def _robots_of(site: Site) -> str:
    return f"http://127.0.0.1:{site.catalogue.port}/robots.txt"


def a_job(**changes: object) -> Send:
    record = JobRecord(**({"job": "job-1", "spec": {}} | changes))  # type: ignore[arg-type]  # a builder
    return Send(JOBS, record.job, encode(record))


def scheduled(*requests: FetchRequest) -> list[Send]:
    return [Send(SCHEDULED, request.fp, encode(request)) for request in requests]


async def joined(settings: Settings) -> None:
    """Until the service has its partitions: what comes now was there for nobody before."""
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(committed, settings, "fetcher", SCHEDULED):  # noqa: ASYNC110  (a broker sets no event)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def serving(settings: Settings, sends: list[Send]) -> AsyncIterator[None]:
    """The service while it carries these out; jobs are there before it, requests come when it has its partitions."""
    lapsed = Send(SCHEDULED, "", encode(request_for("http://127.0.0.1/", lease_until_ms=1)), partition=3)
    jobs = [send for send in sends if send.topic == JOBS]
    await asyncio.to_thread(put, settings, *jobs, lapsed)  # both topics exist from now on
    stop = asyncio.Event()
    service = asyncio.create_task(serve(settings, stop))
    try:
        await joined(settings)
        await asyncio.to_thread(put, settings, *(send for send in sends if send.topic != JOBS))
        yield
    finally:
        stop.set()
        await service


async def run(settings: Settings, sends: list[Send], *, until: int) -> list[Record]:
    """Run the service on these messages until so many batches are in the frontier, and stop it."""
    async with serving(settings, sends):
        return await asyncio.to_thread(everything_in, settings, FRONTIER, at_least=until, within_s=30)


def facts_in(records: list[Record]) -> list[object]:
    return [fact for record in records for fact in decode(Batch, record.value or b"").facts]


def meta_of(record: Record) -> PageMeta:
    return decode(PageMeta, record.header(PAGE_HEADER) or b"")


async def test_a_page_travels_with_its_facts_and_is_committed(settings: Settings, site: Site) -> None:
    request = request_for(site.catalogue.url(7))
    frontier = await run(settings, [a_job(spec={"meta": {"team": "a"}}), *scheduled(request)], until=1)

    (page,) = everything_in(settings, PAGES)
    meta = meta_of(page)
    assert site.catalogue.body(7) == page.value
    assert request.fp.encode() == page.key
    assert ("fetched", 200, "text/html; charset=utf-8", "utf-8", len(page.value or b""), "127.0.0.1", "HTTP/1.1") == (
        meta.outcome, meta.status, meta.content_type, meta.charset, meta.size_bytes, meta.remote_address, meta.protocol
    )  # fmt: skip
    (fact,) = facts_in(frontier)
    assert isinstance(fact, Fetched)
    assert (request.fp, request.key, 200, None) == (fact.fp, fact.key, fact.status, fact.reason)
    (event,) = (decode(LogEvent, record.value or b"") for record in everything_in(settings, LOGS))
    assert (
        event.event.action, event.event.outcome, event.odradek.outcome, event.odradek.meta
    ) == ("fetch", "success", "fetched", {"team": "a"})  # fmt: skip
    assert committed(settings, "fetcher", SCHEDULED)[0] == 1


async def test_a_failure_is_a_page_without_body_and_says_when_to_try_again(settings: Settings, site: Site) -> None:
    missing = request_for(f"http://127.0.0.1:{site.catalogue.port}/p/9999.html")
    refused = request_for("http://127.0.0.1:1/")
    frontier = await run(settings, [a_job(), *scheduled(missing, refused)], until=1)
    while len(facts_in(frontier)) < 2:
        frontier = everything_in(settings, FRONTIER)

    pages = {meta_of(page).request.fp: page for page in everything_in(settings, PAGES, at_least=2)}
    assert [page.value for page in pages.values()] == [None, None]
    assert (
        meta_of(pages[missing.fp]).outcome, meta_of(pages[missing.fp]).reason, meta_of(pages[missing.fp]).retry_in_ms
    ) == ("failed", "http_404", None)  # fmt: skip
    assert (
        meta_of(pages[refused.fp]).outcome, meta_of(pages[refused.fp]).reason, meta_of(pages[refused.fp]).retry_in_ms
    ) == ("failed", "connect", 7000)  # fmt: skip
    assert {(404, None), (None, "connect")} == {(fact.status, fact.reason) for fact in facts_in(frontier)}  # type: ignore[attr-defined]  # all are Fetched


async def test_robots_answer_the_frontier_directly(settings: Settings, site: Site) -> None:
    origin = f"http://127.0.0.1:{site.catalogue.port}"
    request = request_for(f"{origin}/robots.txt", kind="robots")
    frontier = await run(settings, [a_job(), *scheduled(request)], until=1)

    (fact,) = facts_in(frontier)
    assert isinstance(fact, RobotsFetched)
    assert (origin, 200, site.robots.decode(), request.fp) == (fact.origin, fact.status, fact.text, fact.fp)
    assert everything_in(settings, PAGES) == []


async def test_a_hostile_site_keeps_no_slot_and_all_is_committed(settings: Settings) -> None:
    job = a_job(spec={"fetch": {"timeout": 2, "max_bytes": "1MiB"}})
    async with HostileSite() as site:
        requests = [request_for(site.url(name)) for name in SHEET]
        last = request_for(site.url("chunked?last"))
        async with serving(settings, [job, *scheduled(*requests, last)]):
            pages = await asyncio.to_thread(everything_in, settings, PAGES, at_least=len(SHEET) + 1, within_s=40)
    told = {meta_of(page).request.fp: meta_of(page).outcome for page in pages}
    assert told == {each.fp: SHEET[name].outcome for each, name in zip(requests, SHEET, strict=True)} | {
        last.fp: "fetched"
    }
    assert committed(settings, "fetcher", SCHEDULED)[0] == len(SHEET) + 1
    assert [sample.value for sample in next(iter(OPEN.collect())).samples] == [0]


async def test_no_fetch_starts_after_its_lease(settings: Settings, site: Site) -> None:
    late = request_for(site.catalogue.url(1), lease_until_ms=now_ms() - 1)
    good = request_for(site.catalogue.url(2))
    await run(settings, [a_job(), *scheduled(late, good)], until=1)

    assert site.seen.answers == {"/p/2.html": 1}
    assert committed(settings, "fetcher", SCHEDULED)[0] == 2


async def test_a_request_of_a_cancelled_job_frees_its_host_unfetched(settings: Settings, site: Site) -> None:
    request = request_for(site.catalogue.url(1))
    frontier = await run(settings, [a_job(wanted="cancelled"), *scheduled(request)], until=1)

    (fact,) = facts_in(frontier)
    assert isinstance(fact, Fetched)
    assert (request.fp, None, None) == (fact.fp, fact.status, fact.reason)
    assert site.seen.answers == {}


async def test_a_request_of_a_paused_job_is_given_back_unfetched(settings: Settings, site: Site) -> None:
    request = request_for(site.catalogue.url(1))
    frontier = await run(settings, [a_job(wanted="paused"), *scheduled(request)], until=1)

    (fact,) = facts_in(frontier)
    assert isinstance(fact, Fetched)
    assert (request.fp, None, "paused") == (fact.fp, fact.status, fact.reason)
    assert site.seen.answers == {}


async def test_what_was_there_before_its_partition_was_ours_is_given_back(settings: Settings, site: Site) -> None:
    """Another fetcher may have carried it out, or be doing so: the frontier decides when it is asked for again."""
    page, robots = request_for(site.catalogue.url(1)), request_for(_robots_of(site), kind="robots")
    late = request_for(site.catalogue.url(2), lease_until_ms=now_ms() - 1)
    await asyncio.to_thread(put, settings, *scheduled(page, robots, late))
    fresh = request_for(site.catalogue.url(3))
    frontier = await run(settings, [a_job(), *scheduled(fresh)], until=2)

    facts = [fact for fact in facts_in(frontier) if isinstance(fact, Fetched | RobotsFetched)]
    told = {(type(fact), fact.fp, fact.status, fact.reason) for fact in facts}
    assert told == {
        (Fetched, page.fp, None, "inherited"),
        (RobotsFetched, robots.fp, None, "inherited"),
        (Fetched, fresh.fp, 200, None),
    }
    assert site.seen.answers == {"/p/3.html": 1}
    assert {fact.lease_until_ms for fact in facts if isinstance(fact, RobotsFetched)} == {robots.lease_until_ms}
    assert committed(settings, "fetcher", SCHEDULED)[0] == 4


async def test_a_fetch_that_might_outlive_its_lease_is_given_back(settings: Settings, site: Site) -> None:
    request = request_for(site.catalogue.url(1), lease_until_ms=now_ms() + 25_000)
    (fact,) = facts_in(await run(settings, [a_job(), *scheduled(request)], until=1))
    assert isinstance(fact, Fetched)
    assert (fact.fp, fact.reason, site.seen.answers) == (request.fp, "overdue", {})


@pytest.mark.parametrize("expires", [60.0, "2026-01-01T00:01:00Z"])
async def test_a_job_ends_by_the_clock_before_anyone_has_said_so(
    settings: Settings, site: Site, expires: float | str
) -> None:
    request, robots = request_for(site.catalogue.url(1)), request_for(_robots_of(site), kind="robots")
    job = a_job(spec={"expires": expires}, created_at_ms=1_767_225_600_000)
    frontier = await run(settings, [job, *scheduled(request, robots)], until=1)
    while len(facts_in(frontier)) < 2:
        frontier = everything_in(settings, FRONTIER)

    facts = {type(fact): fact for fact in facts_in(frontier)}
    fetched = facts[Fetched]
    assert isinstance(fetched, Fetched)
    assert (request.fp, None, None) == (fetched.fp, fetched.status, fetched.reason)
    assert (set(facts), site.seen.answers) == ({Fetched, RobotsFetched}, {"/robots.txt": 1})


async def test_a_job_that_has_not_expired_is_fetched(settings: Settings, site: Site) -> None:
    request = request_for(site.catalogue.url(1))
    job = a_job(spec={"expires": 3600.0}, created_at_ms=now_ms())
    await run(settings, [job, *scheduled(request)], until=1)
    assert site.seen.answers == {"/p/1.html": 1}


async def test_what_is_no_request_is_a_dead_letter_and_the_rest_goes_on(settings: Settings, site: Site) -> None:
    bad_url = msgspec.structs.replace(request_for(site.catalogue.url(1)), url="ftp://127.0.0.1/")
    good = request_for(site.catalogue.url(2))
    nonsense = Send(SCHEDULED, "x", b"{nonsense")
    frontier = await run(settings, [a_job(), nonsense, *scheduled(bad_url, good)], until=1)
    while len(facts_in(frontier)) < 3:
        frontier = everything_in(settings, FRONTIER)

    terminal = [fact for fact in facts_in(frontier) if isinstance(fact, Parsed)]
    assert [("failed", "poison", bad_url.fp)] == [(fact.outcome, fact.reason, fact.fp) for fact in terminal]
    letters = everything_in(settings, DEAD_LETTERS, at_least=2)
    assert {b"malformed", b"poison"} == {letter.header("reason") for letter in letters}
    assert [good.fp] == [meta_of(page).request.fp for page in everything_in(settings, PAGES)]
