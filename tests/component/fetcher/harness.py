"""A fetcher without Kafka: requests go in, results come out."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.clock import now_ms
from odradek.resolve import Guard, LookUp, SystemLookUp, nothing_refused
from odradek.specification import JobSpecification
from odradek.testing.records import a_request
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.core.answers import Limits
from odradek_fetcher.core.plans import plan
from odradek_fetcher.fetching import Fetching, Result
from odradek_fetcher.http import HttpFetch
from odradek_fetcher.tls import Contexts
from odradek_fetcher.transports import Transports

FIRST_TRY, LATER_TRY = 0, 1
"""They take different HTTP libraries."""
LIMITS = Limits(connect_s=5.0, read_s=5.0)

Fetch = Callable[..., Awaitable[Result]]
"""`await fetch(url, spec={"timeout": 2}, kind="robots")`: part `fetch` of the job, and fields of the request."""


async def everywhere_here(_: str) -> tuple[str, ...]:
    """A resolver by which every name is this machine."""
    return ("127.0.0.1",)


@asynccontextmanager
async def a_fetching(
    look_up: LookUp | None = None,
    *,
    refuses: Callable[[str], bool] = nothing_refused,
    ttl_s: float = 60.0,
    authority: Path | None = None,
    limits: Limits = LIMITS,
) -> AsyncIterator[Fetch]:
    """A fetcher for as long as the block lasts; every address may be connected to, unless `refuses` says no."""
    guard = Guard(look_up or SystemLookUp(threads=1), refuses=refuses, ttl_s=ttl_s)
    transports = Transports(guard, Contexts(authority), limits)
    fetching = Fetching(HttpFetch(transports, guard, limits), limits=limits, delays_s=(5.0,), clock_ms=now_ms)

    async def fetch(url: str, spec: dict[str, object] | None = None, **changes: object) -> Result:
        found = identify(url)
        assert isinstance(found, CrawlUrl)
        request = a_request(**({"url": found.url, "fp": found.fp, "key": found.key} | changes))
        job = JobSpecification.from_wire({"fetch": {"timeout": 10, **(spec or {})}})
        return await fetching.carry_out(request, plan(job, user_agent="Odradek/0.1", environ={}), found)

    yield fetch
    await transports.close()
