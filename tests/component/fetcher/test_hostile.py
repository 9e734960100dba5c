"""Every line of the hostile site's answer sheet."""

import asyncio
import resource
from dataclasses import replace

import pytest
from tests.component.fetcher.harness import a_fetching

from odradek.contracts import Hop, PageMeta
from odradek.testing import hostile_cases  # noqa: F401  (fills the sheet)
from odradek.testing.hostile import KEPT, MAX_BYTES, READ_S, SHEET, SLOW_AFTER_S, TOTAL_S, Expected, HostileSite
from odradek_fetcher.core.answers import Limits
from odradek_fetcher.fetching import Result

LIMITS = Limits(connect_s=1.0, read_s=READ_S, slow_after_s=SLOW_AFTER_S)

DIFFERENT: dict[str, Expected] = {
    "too-long": KEPT,
    "chunk-size-in-words": Expected("failed", "protocol", 200),
    "101": Expected("failed", "protocol"),
}
"""What a later try makes of a case, where it differs: another parser forgives other things."""


def wanted(total_s: float = TOTAL_S) -> dict[str, object]:
    return {"timeout": total_s, "max_bytes": MAX_BYTES}


def told(result: Result) -> Expected:
    page = result.page
    size = page.size_bytes if result.body is not None else None
    return Expected(page.outcome, page.reason, page.status, size, truncated=result.body is not None and page.truncated)


@pytest.mark.parametrize("name", SHEET)
async def test_every_case_of_the_sheet_has_its_outcome(name: str) -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch, asyncio.timeout(10):
        result = await fetch(site.url(name), wanted())
    assert told(result) == SHEET[name], result.page.error
    assert (result.body is None) == (result.page.outcome != "fetched")


@pytest.mark.parametrize("name", SHEET)
async def test_a_later_try_with_the_other_library_comes_to_the_same(name: str) -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch, asyncio.timeout(10):
        result = await fetch(site.url(name), wanted(), attempt=1)
    assert told(result) == DIFFERENT.get(name, SHEET[name]), result.page.error


async def test_all_cases_at_once_leave_no_slot_stuck_and_memory_bounded() -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    patient = replace(LIMITS, read_s=3.0)
    async with HostileSite() as site, a_fetching(limits=patient) as fetch, asyncio.timeout(60):
        results = await asyncio.gather(*(fetch(site.url(name), wanted(6.0)) for name in SHEET))
    wrong = {name: told(result) for name, result in zip(SHEET, results, strict=True) if told(result) != SHEET[name]}
    assert wrong == {}
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown_mib = (peak_kib - before_kib) / 1024
    print(f"{len(SHEET)} cases at once: peak RSS {peak_kib / 1024:.0f} MiB, {grown_mib:.0f} more than before")  # noqa: T201  (figures)
    assert grown_mib < 200


async def test_a_kept_connection_that_the_site_closed_is_no_failure() -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch:
        results = [await fetch(site.url("closes-kept-connection"), wanted()) for _ in range(20)]
    assert [told(result) for result in results] == [SHEET["closes-kept-connection"]] * 20


@pytest.mark.parametrize("attempt", [0, 1])
async def test_a_fetch_whose_time_is_over_tells_how_far_it_came(attempt: int) -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch:
        page = (await fetch(site.url("drip-of-a-head"), wanted(1.0), attempt=attempt)).page
    timings = page.timings
    assert (page.reason, page.remote_address, timings.tls_ms, timings.first_byte_ms) == (
        "timeout_total", "127.0.0.1", None, None
    )  # fmt: skip
    assert timings.connect_ms is not None
    assert 1000 <= timings.total_ms < 5000


async def test_a_redirect_tells_its_absolute_target_without_fragment() -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch:
        page: PageMeta = (await fetch(site.url("onward"), wanted())).page
        assert page.location == site.url("chain/3")


async def test_a_chain_ends_after_ten_hops_and_when_it_bites_its_tail() -> None:
    async with HostileSite() as site, a_fetching(limits=LIMITS) as fetch:
        hops = tuple(Hop(url=site.url(f"chain/{number}"), status=301) for number in range(10))
        long = await fetch(site.url("onward"), wanted(), chain=(*hops[4:], *hops[:4]))
        tail = await fetch(site.url("onward"), wanted(), chain=hops[3:4])
    assert (long.page.reason, tail.page.reason) == ("redirect_limit", "redirect_loop")
