"""The parts that fetch, put together: for the service, and for one fetch on the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from odradek.addresses import address_refusal
from odradek.clock import now_ms
from odradek.resolve import Guard, SystemLookUp, nothing_refused
from odradek.settings import Settings
from odradek_fetcher.fetching import Fetching
from odradek_fetcher.http import HttpFetch
from odradek_fetcher.settings import LIMITS
from odradek_fetcher.tls import Contexts
from odradek_fetcher.transports import Transports


@asynccontextmanager
async def fetching_for(settings: Settings) -> AsyncIterator[Fetching]:
    """All that fetches by these settings; its connections are closed at the end."""
    guard = Guard(SystemLookUp(), refuses=nothing_refused if settings.allow_private_networks else address_refusal)
    transports = Transports(guard, Contexts(), LIMITS)
    fetch = HttpFetch(transports, guard, LIMITS)
    try:
        yield Fetching(fetch, limits=LIMITS, delays_s=settings.retry_delays, clock_ms=now_ms)
    finally:
        await transports.close()
