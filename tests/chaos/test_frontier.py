"""Budget, politeness and job control of a cluster, judged by the site's own log.

Three schedulers, three fetchers (four against the host that answers 429), twelve partitions of Apache Kafka.
`FRONTIER_PAGES` (default 300; full size 5000) is the size of the site that a budget is tried on; for `FRONTIER_SECONDS`
(default 6; full size 60) gaps are measured. At full size the other tests are longer too, and the mean of the gaps is
judged: it says something about a machine that has nothing else to do.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from statistics import mean

import pytest
import pytest_asyncio
from tests.chaos.cluster import Cluster, until

from odradek.testing.site import Catalogue, Site

PAGES = int(os.environ.get("FRONTIER_PAGES", "300"))
SECONDS = float(os.environ.get("FRONTIER_SECONDS", "6"))
FULL = SECONDS >= 60
BUDGET = PAGES // 5

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    async with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def catalogue(pages: int, hosts: int = 20) -> Catalogue:
    return Catalogue(pages=pages, hosts=hosts, port=0, cards=2, words_per_card=30)


def a_crawl(site: Site, **more: object) -> dict[str, object]:
    """A job that crawls the whole site as fast as it goes, unless it says otherwise."""
    return {
        "seeds": [site.catalogue.url(0)],
        "scope": {"allowed_domains": site.catalogue.addresses(), "max_pages": None},
        "politeness": {"delay": "0s", "concurrency_per_host": 4},
    } | more


def gaps_s(site: Site, host: str) -> list[tuple[float, float]]:
    """Of each request to a host but the first: seconds since the answer before it left, and since it came."""
    starts, ends = site.seen.instants[host], site.seen.ended[host]
    return [(start - end, start - before) for (before, start), end in zip(pairwise(starts), ends, strict=False)]


async def asked(site: Site, pages: int, within_s: float) -> None:
    async def there() -> bool:
        return site.seen.pages().total() >= pages

    await until(there, within_s, lambda: f"{site.seen.pages().total()} of {pages} pages were asked for")


async def test_a_budget_is_exact_over_schedulers_also_when_one_is_killed_and_when_it_is_raised(
    cluster: Cluster,
) -> None:
    async with Site(catalogue(PAGES)) as site:
        scope = {"allowed_domains": site.catalogue.addresses(), "max_pages": BUDGET}
        job = await cluster.submit(**a_crawl(site, scope=scope))
        await cluster.until_state(job, "complete", 200)
        calm = await cluster.audit(job)
        kept = [(await cluster.job(job))["pages"]]

        killed = await cluster.submit(**a_crawl(site, scope=scope))
        before = site.seen.pages().total()
        await asked(site, before + BUDGET // 2, 100)
        cluster.kill_one_scheduler()
        await cluster.until_state(killed, "complete", 200)
        kept.append((await cluster.job(killed))["pages"])
        audit = await cluster.audit(killed)

        await cluster.patch(job, scope={"max_pages": 2 * BUDGET})
        assert (await cluster.job(job))["state"] == "running"
        await cluster.until_state(job, "complete", 200)
        kept.append((await cluster.job(job))["pages"])
        raised = await cluster.audit(job)

    print(f"{PAGES} pages, max_pages {BUDGET}: kept {kept[0]}; scheduler killed: {kept[1]}; raised: {kept[2]}")  # noqa: T201
    assert kept == [BUDGET, BUDGET, 2 * BUDGET]
    assert [each["balanced"] for each in (calm, audit, raised)] == [True, True, True]
    assert (calm["pending"], set(calm["reasons"]["skipped"])) == (0, {"budget_pages"})


async def test_a_budget_set_on_a_running_job_counts_what_is_kept_and_under_way(cluster: Cluster) -> None:
    async with Site(catalogue(PAGES), latency_s=0.3) as site:
        found = []
        for begun, limit in ((10, BUDGET), (BUDGET, 5)):
            before = site.seen.pages().total()
            job = await cluster.submit(**a_crawl(site, politeness={"delay": "0s", "concurrency_per_host": 1}))
            await asked(site, before + begun, 100)
            known = (await cluster.job(job))["pages"]
            await cluster.patch(job, scope={"max_pages": limit})
            await cluster.until_state(job, "complete", 200)
            found.append((known, (await cluster.job(job))["pages"], site.seen.pages().total() - before))
            assert (await cluster.audit(job))["balanced"] is True

    print(f"max_pages {BUDGET} and 5 set on running jobs; kept when set, kept, asked for: {found}")  # noqa: T201
    (_, kept, _), (known, beyond, fetched) = found
    assert kept == BUDGET
    assert max(5, known) <= beyond <= fetched < PAGES


async def test_no_gap_is_shorter_than_the_delay_and_few_are_much_longer(cluster: Cluster) -> None:
    delay_s = 1.0
    site = Site(catalogue(2000, hosts=8), latency_s=0.05)
    async with site:
        politeness = {"delay": f"{delay_s}s", "concurrency_per_host": 1}
        job = await cluster.submit(**a_crawl(site, politeness=politeness))
        await asked(site, 8 * 4, 60)
        began = time.monotonic()
        await asyncio.sleep(SECONDS)
        await cluster.post(f"/v1/jobs/{job}/cancel")

    every = [gap for host in site.seen.instants for gap, _ in gaps_s(site, host)]
    steady = [
        gap
        for host, starts in site.seen.instants.items()
        for (gap, _), start in zip(gaps_s(site, host), starts[1:], strict=True)
        if start > began
    ]
    over = mean(gap - delay_s for gap in steady) / delay_s
    load = os.getloadavg()[0]
    print(  # noqa: T201
        f"{len(every)} gaps on {len(site.seen.instants)} hosts: shortest {min(every):.4f} s; mean(gap - delay - "
        f"response time)/delay {over:.1%} over {len(steady)} gaps, longest {max(steady):.3f} s; load {load:.1f}"
    )
    assert min(every) >= delay_s
    assert len(site.seen.instants) == 8
    assert over < 0.10 or not FULL


async def test_pause_resume_cancel_and_expiry_are_seen_by_the_site(cluster: Cluster) -> None:
    site, expires_s = Site(catalogue(5000, hosts=20), latency_s=0.3), 8.0 if FULL else 4.0
    async with site:
        job = await cluster.submit(**a_crawl(site, politeness={"delay": "0s", "concurrency_per_host": 8}))
        await asked(site, 300 if FULL else 100, 100)
        await cluster.post(f"/v1/jobs/{job}/pause")
        paused = time.monotonic()
        await asyncio.sleep(4 if FULL else 2)
        late = [start - paused for starts in site.seen.instants.values() for start in starts if start > paused]
        await cluster.at_rest(job)

        await cluster.post(f"/v1/jobs/{job}/resume")
        resumed, before = time.monotonic(), site.seen.pages().total()
        await asked(site, before + 20, 20)
        woke_s = time.monotonic() - resumed

        await cluster.post(f"/v1/jobs/{job}/cancel")
        await cluster.until_state(job, "cancelled", 30)
        cancelled = await cluster.settled(job)

        expiring = await cluster.submit(**a_crawl(site, expires=expires_s))
        accepted = time.monotonic()
        await cluster.until_state(expiring, "expired", 60)
        expired_s = time.monotonic() - accepted
        expired = await cluster.settled(expiring)
        last_s = max(start for starts in site.seen.instants.values() for start in starts) - accepted

    print(  # noqa: T201
        f"last new request {max(late, default=0.0):.3f} s after pause returned ({len(late)} came after it); 20 pages "
        f"{woke_s:.2f} s after resume; expires {expires_s:.0f} s: last request at {last_s:.2f} s, "
        f"state expired at {expired_s:.2f} s"
    )
    assert max(late, default=0.0) < 1.0
    assert (cancelled["pending"], cancelled["balanced"]) == (0, True)
    assert (expired["pending"], expired["balanced"]) == (0, True)
    assert expired["reasons"]["skipped"]["expired"] > 0
    assert last_s < expires_s + 1.0


class Throttling(Site):
    """One host answers some requests with 429 and Retry-After; the others answer everything."""

    def __init__(self, catalogue: Catalogue, every: int, retry_after: str) -> None:
        super().__init__(catalogue, latency_s=0.02)
        self._every, self._retry_after = every, retry_after
        self.throttled = catalogue.addresses()[0]
        self.refused: list[float] = []
        """When answers of 429 were given."""

    def answer(self, host: str, path: str) -> bytes:
        found = super().answer(host, path)
        count = len(self.seen.instants[host])
        if host != self.throttled or path == "/robots.txt" or count % self._every:
            return found
        self.refused.append(time.monotonic())
        head = f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {self._retry_after}\r\nContent-Length: 0\r\n\r\n"
        return head.encode()

    def waits_s(self) -> list[float]:
        """After each refusal, how long no request came to the host."""
        starts = self.seen.instants[self.throttled]
        nexts = [next((start for start in starts if start > refused), None) for refused in self.refused]
        return [start - refused for refused, start in zip(self.refused, nexts, strict=True) if start is not None]


async def test_a_host_that_asks_for_five_seconds_gets_them_from_four_fetchers_and_over_a_kill(cluster: Cluster) -> None:
    site, kills = Throttling(catalogue(4000, hosts=4), every=3, retry_after="5"), 3 if FULL else 1
    await cluster.one_more_fetcher()
    async with site:
        politeness = {"delay": "200ms", "concurrency_per_host": 1}
        fetch = {"retries": 10}
        job = await cluster.submit(**a_crawl(site, politeness=politeness, fetch=fetch))

        async def refused(count: int) -> None:
            async def there() -> bool:
                return len(site.refused) >= count

            await until(there, 90, lambda: f"only {len(site.refused)} refusals")

        await refused(2)
        cluster.kill_one_scheduler()
        await refused(3)
        for _ in range(kills - 1):
            cluster.kill_one_scheduler()
        await refused(6 if FULL else 4)
        await cluster.post(f"/v1/jobs/{job}/cancel")
        waits = site.waits_s()
    others = {host: len(starts) for host, starts in site.seen.instants.items() if host != site.throttled}
    throttled = len(site.seen.instants[site.throttled])
    print(  # noqa: T201
        f"{len(site.refused)} answers of 429 (Retry-After: 5), {kills} kills of schedulers: the next came after "
        f"{[round(wait, 2) for wait in waits]} s; {throttled} requests there, meanwhile on the other hosts {others}"
    )
    assert min(waits) >= 5.0
    assert min(others.values()) > 2 * throttled
