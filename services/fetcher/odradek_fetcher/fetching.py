"""One request carried out to its end: exchanges, redirects on the spot, the total time, and the verdict."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from odradek.contracts import FetchRequest, PageMeta, RobotsFetched
from odradek.specification import MAX_BODY_BYTES
from odradek.urls import CrawlUrl
from odradek_fetcher.core.answers import Answer, Deadline, Failure, Limits, Order
from odradek_fetcher.core.decoding import unpacked
from odradek_fetcher.core.facts import digest, page_meta, robots_fetched
from odradek_fetcher.core.following import on_the_spot
from odradek_fetcher.core.plans import Plan, order, turn
from odradek_fetcher.core.proxies import Proxies
from odradek_fetcher.core.soft_blocks import SameBodies, may_be_blocked
from odradek_fetcher.core.verdicts import judge
from odradek_fetcher.http import Fetch


class Result(msgspec.Struct, frozen=True):
    """What one try brought."""

    page: PageMeta
    answer: Answer
    """Of the last exchange, with all its headers."""
    body: bytes | None = None
    """Only of a page that was fetched."""
    robots: RobotsFetched | None = None


class Fetching:
    """Carries out requests; keeps the health of proxies and what is known of suspicious hosts, nothing else."""

    def __init__(
        self,
        fetch: Fetch,
        *,
        limits: Limits,
        delays_s: Sequence[float],
        clock_ms: Callable[[], int],
    ) -> None:
        self._fetch, self._limits, self._delays_s, self._clock_ms = fetch, limits, delays_s, clock_ms
        self.proxies = Proxies()
        self._bodies = SameBodies()

    async def carry_out(self, request: FetchRequest, plan: Plan, url: CrawlUrl) -> Result:
        """One try of a request; all that can go wrong on the way to a site is in the result."""
        answer = await self._in_time(request, plan, url)
        body, body_digest = answer.body, None
        if request.kind == "sitemap" and body is not None and answer.failure is None:
            answer = _unpack(answer, MAX_BODY_BYTES, self._limits)
            body = answer.body
        suspicious = False
        if answer.failure is None and body is not None and not answer.unwanted:
            body_digest = digest(body)
            if request.kind == "page" and may_be_blocked(answer):
                suspicious = self._bodies.suspicious(request.job, url.host, request.fp, body_digest)
        verdict = judge(request, plan, answer, same_bodies=suspicious, body_digest=body_digest)
        kept = verdict.outcome == "fetched"
        page = page_meta(
            request,
            plan,
            answer,
            verdict,
            now_ms=self._clock_ms(),
            delays_s=self._delays_s,
            body_digest=body_digest if kept else None,
        )
        robots = robots_fetched(page, url, answer) if request.kind == "robots" else None
        return Result(page, answer, (body or b"") if kept else None, robots)

    async def _in_time(self, request: FetchRequest, plan: Plan, url: CrawlUrl) -> Answer:
        total_s, begun = plan.spec.fetch.timeout, time.perf_counter()
        deadline = Deadline(total_s, asyncio.get_running_loop().time() + total_s)
        answer = await self._follow(request, plan, url, deadline)
        total_ms = round((time.perf_counter() - begun) * 1000, 3)
        return replace(answer, timings=replace(answer.timings, total_ms=total_ms))

    async def _follow(self, request: FetchRequest, plan: Plan, url: CrawlUrl, deadline: Deadline) -> Answer:
        proxy = self.proxies.choose(plan.proxies, turn(request), time.monotonic())
        asked = order(request, plan, url=url.url, host=url.host, proxy=proxy)
        hops = 0
        while True:
            answer = await self._exchange(asked, deadline)
            onward = None if answer.failure is not None else on_the_spot(request, plan, asked, answer, hops)
            if onward is None:
                return answer
            if isinstance(onward, Failure):
                return replace(answer, failure=onward)
            asked, hops = onward, hops + 1

    async def _exchange(self, asked: Order, deadline: Deadline) -> Answer:
        answer = await self._fetch.fetch(asked, deadline)
        if asked.proxy is not None:
            failed = answer.failure is not None and answer.failure.reason == "proxy"
            self.proxies.settle(asked.proxy, failed=failed, now_s=time.monotonic())
        return answer


def _unpack(answer: Answer, max_bytes: int, limits: Limits) -> Answer:
    """A sitemap that is itself a gzip file becomes what is in it."""
    found = unpacked(answer.body or b"", max_bytes, limits)
    if isinstance(found, str):
        return replace(answer, body=None, failure=Failure("bomb" if found == "bomb" else "decode", found))
    body, cut = found
    return replace(answer, body=body, truncated=answer.truncated or cut)
