"""Every line of the hostile site's answer sheet."""

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from odradek.contracts import Hop, PageMeta
from odradek.resolve import Guard, SystemLookUp, nothing_refused
from odradek.specification import JobSpecification
from odradek.testing import hostile_cases  # noqa: F401  (fills the sheet)
from odradek.testing.hostile import KEPT, MAX_BYTES, READ_S, SHEET, SLOW_AFTER_S, TOTAL_S, Expected, HostileSite
from odradek.testing.records import a_request
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.core.answers import Limits
from odradek_fetcher.core.plans import plan
from odradek_fetcher.fetching import Fetching, Result
from odradek_fetcher.http import HttpFetch
from odradek_fetcher.tls import Contexts
from odradek_fetcher.transports import Transports

LIMITS = Limits(connect_s=1.0, read_s=READ_S, slow_after_s=SLOW_AFTER_S)

DIFFERENT: dict[str, Expected] = {
    "too-long": KEPT,
    "chunk-size-in-words": Expected("failed", "protocol", 200),
    "101": Expected("failed", "protocol"),
}
"""What a later try makes of a case, where it differs: another parser forgives other things."""


@asynccontextmanager
async def a_fetching(limits: Limits = LIMITS) -> AsyncIterator[Fetching]:
    guard = Guard(SystemLookUp(threads=1), refuses=nothing_refused)
    transports = Transports(guard, Contexts(), limits)
    fetch = HttpFetch(transports, guard, limits)
    yield Fetching(fetch, limits=limits, delays_s=(5.0,), clock_ms=lambda: time.time_ns() // 1_000_000)
    await transports.close()


async def fetched(fetching: Fetching, url: str, *, total_s: float = TOTAL_S, **changes: object) -> Result:
    found = identify(url)
    assert isinstance(found, CrawlUrl)
    spec = JobSpecification.from_wire({"fetch": {"timeout": total_s, "max_bytes": MAX_BYTES}})
    request = a_request(**({"url": found.url, "fp": found.fp, "key": found.key} | changes))
    return await fetching.carry_out(request, plan(spec, user_agent="Odradek/0.1", environ={}), found)


def told(result: Result) -> Expected:
    page = result.page
    size = page.size_bytes if result.body is not None else None
    return Expected(page.outcome, page.reason, page.status, size, truncated=result.body is not None and page.truncated)


@pytest.mark.parametrize("name", SHEET)
async def test_every_case_of_the_sheet_has_its_outcome(name: str) -> None:
    async with HostileSite() as site, a_fetching() as fetching, asyncio.timeout(10):
        result = await fetched(fetching, site.url(name))
    assert told(result) == SHEET[name], result.page.error
    assert (result.body is None) == (result.page.outcome != "fetched")


@pytest.mark.parametrize("name", SHEET)
async def test_a_later_try_with_the_other_library_comes_to_the_same(name: str) -> None:
    async with HostileSite() as site, a_fetching() as fetching, asyncio.timeout(10):
        result = await fetched(fetching, site.url(name), attempt=1)
    assert told(result) == DIFFERENT.get(name, SHEET[name]), result.page.error


async def test_all_cases_at_once_leave_no_slot_stuck_and_memory_bounded() -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    patient = replace(LIMITS, read_s=3.0)
    async with HostileSite() as site, a_fetching(patient) as fetching, asyncio.timeout(60):
        results = await asyncio.gather(*(fetched(fetching, site.url(name), total_s=6.0) for name in SHEET))
    wrong = {name: told(result) for name, result in zip(SHEET, results, strict=True) if told(result) != SHEET[name]}
    assert wrong == {}
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    assert grown_mib < 200


async def test_a_kept_connection_that_the_site_closed_is_no_failure() -> None:
    async with HostileSite() as site, a_fetching() as fetching:
        results = [await fetched(fetching, site.url("closes-kept-connection")) for _ in range(20)]
    assert [told(result) for result in results] == [SHEET["closes-kept-connection"]] * 20


@pytest.mark.parametrize("attempt", [0, 1])
async def test_a_fetch_whose_time_is_over_tells_how_far_it_came(attempt: int) -> None:
    async with HostileSite() as site, a_fetching() as fetching:
        page = (await fetched(fetching, site.url("drip-of-a-head"), attempt=attempt, total_s=1.0)).page
    timings = page.timings
    assert (page.reason, page.remote_address, timings.tls_ms, timings.first_byte_ms) == (
        "timeout_total", "127.0.0.1", None, None
    )  # fmt: skip
    assert timings.connect_ms is not None
    assert 1000 <= timings.total_ms < 5000


async def test_a_redirect_tells_its_absolute_target_without_fragment() -> None:
    async with HostileSite() as site, a_fetching() as fetching:
        page: PageMeta = (await fetched(fetching, site.url("onward"))).page
        assert page.location == site.url("chain/3")


async def test_a_chain_ends_after_ten_hops_and_when_it_bites_its_tail() -> None:
    async with HostileSite() as site, a_fetching() as fetching:
        hops = tuple(Hop(url=site.url(f"chain/{number}"), status=301) for number in range(10))
        long = await fetched(fetching, site.url("onward"), chain=(*hops[4:], *hops[:4]))
        tail = await fetched(fetching, site.url("onward"), chain=hops[3:4])
    assert (long.page.reason, tail.page.reason) == ("redirect_limit", "redirect_loop")
