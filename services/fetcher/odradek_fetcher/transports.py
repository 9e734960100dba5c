"""Which connections carry an exchange: aiohttp's for HTTP/1.1, httpcore's for HTTP/2 and proxies.

A site that was offered HTTP/2 and took HTTP/1.1 is asked by aiohttp from then on: half the CPU.

httpcore looks at every connection of a pool, and asks the system about each idle one, twice for every request. One
pool for all hosts costs 6 ms of CPU a page with 64 connections to 20 hosts, so each origin has a small pool of its own.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from odradek.resolve import Guard
from odradek_fetcher.core.answers import Limits, Order
from odradek_fetcher.pinning import ProbedBackend
from odradek_fetcher.pooled import PooledCarrier
from odradek_fetcher.quick import QuickCarrier
from odradek_fetcher.replies import Carrier, split
from odradek_fetcher.tls import Contexts

KEEP_ALIVE_S = 15.0
MAX_POOLS = 512
"""Origins whose connections are kept."""
MAX_IDLE = 64
"""Idle connections kept for one origin."""
MAX_WITHOUT_HTTP2 = 10_000
"""Origins remembered to have no HTTP/2."""
TRIMMED = 16
"""Oldest pools looked at whenever a new one is made."""

HTTP2 = "HTTP/2"

Key = tuple[str, bool, bool, str | None]


@dataclass(slots=True)
class _Kept:
    carrier: PooledCarrier
    used_s: float


class Transports:
    """Finds the transport for an order."""

    def __init__(self, guard: Guard, contexts: Contexts, limits: Limits) -> None:
        self._backend = ProbedBackend(guard)
        self._contexts = contexts
        self._pools: OrderedDict[Key, _Kept] = OrderedDict()
        self._retired: list[PooledCarrier] = []
        self._without_http2: OrderedDict[str, None] = OrderedDict()
        self._limits = limits
        self._quick = QuickCarrier(guard, contexts, limits, keep_alive_s=KEEP_ALIVE_S)

    async def carrier(self, order: Order) -> Carrier:
        """The connections for this order's scheme, origin and wishes."""
        offers_http2 = order.http2 and order.url.startswith("https:") and _origin(order) not in self._without_http2
        if order.proxy is None and not order.careful and not offers_http2:
            return self._quick
        key = _key(order)
        kept = self._pools.get(key)
        now_s = time.monotonic()
        if kept is None:
            kept = self._pools[key] = _Kept(PooledCarrier(self._new_pool(order), self._limits), now_s)
            await self._trim(now_s - KEEP_ALIVE_S)
        else:
            self._pools.move_to_end(key)
            kept.used_s = now_s
        return kept.carrier

    def answered(self, order: Order, version: str) -> None:
        """The site answered this order in this version of HTTP."""
        if order.http2 and version != HTTP2 and order.url.startswith("https:"):
            self._without_http2[_origin(order)] = None
            if len(self._without_http2) > MAX_WITHOUT_HTTP2:
                self._without_http2.popitem(last=False)

    def retire(self, order: Order, carrier: Carrier) -> None:
        """Let the exchanges under way finish on this order's connections, and begin no more on them.

        httpcore ends no stream of HTTP/2 that is left early, and a site allows only so many open ones.
        """
        kept = self._pools.get(_key(order))
        if kept is not None and kept.carrier is carrier:
            del self._pools[_key(order)]
            self._retired.append(kept.carrier)

    async def close(self) -> None:
        """Close all connections."""
        await self._quick.aclose()
        for carrier in [*self._retired, *(kept.carrier for kept in self._pools.values())]:
            await carrier.aclose()
        self._retired.clear()
        self._pools.clear()

    async def _trim(self, expired_s: float) -> None:
        """Close pools that nobody uses: the oldest above the limit, those retired and those long not asked."""
        idle = [carrier for carrier in self._retired if carrier.idle]
        self._retired = [carrier for carrier in self._retired if carrier not in idle]
        for carrier in idle:
            await carrier.aclose()
        for key, kept in list(self._pools.items())[:TRIMMED]:
            if (len(self._pools) > MAX_POOLS or kept.used_s < expired_s) and kept.carrier.idle:
                del self._pools[key]
                await kept.carrier.aclose()

    def _new_pool(self, order: Order) -> httpcore.AsyncConnectionPool:
        common: dict[str, Any] = {
            "ssl_context": self._contexts.get(verify=order.verify_tls, http2=order.http2),
            "max_connections": None,
            "max_keepalive_connections": MAX_IDLE,
            "keepalive_expiry": KEEP_ALIVE_S,
            "http2": order.http2,
            "network_backend": self._backend,
        }
        if order.proxy is None:
            return httpcore.AsyncConnectionPool(**common)
        proxy = httpx.Proxy(order.proxy.replace("socks5h:", "socks5:", 1))
        url = httpcore.URL(scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=b"/")
        if proxy.url.scheme == "socks5":
            return httpcore.AsyncSOCKSProxy(proxy_url=url, proxy_auth=proxy.raw_auth, **common)
        secure = proxy.url.scheme == "https"
        context = self._contexts.get(verify=True, http2=False) if secure else None
        return httpcore.AsyncHTTPProxy(proxy_url=url, proxy_auth=proxy.raw_auth, proxy_ssl_context=context, **common)


def _key(order: Order) -> Key:
    return _origin(order), order.http2, order.verify_tls, order.proxy


def _origin(order: Order) -> str:
    return split(order.url)[0]
