"""Connections kept for another request: one small pool for each origin.

httpcore looks at every connection of a pool, and asks the system about each idle one, twice for every request. One
pool for all hosts therefore costs 6 ms a page at 64 connections on 20 hosts; a pool for each host costs 1 ms.
"""

import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache

import certifi
import httpcore
import httpx

from odradek_fetcher.core.answers import Order
from odradek_fetcher.pinning import PinningBackend
from odradek_fetcher.resolve import Guard

KEEP_ALIVE_S = 15.0
MAX_POOLS = 512
"""Origins whose connections are kept."""
MAX_IDLE = 64
"""Idle connections kept for one origin."""

Key = tuple[str, bool, bool, str | None]


class _Pooled(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool that is made here."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self._pool = pool


@dataclass(slots=True)
class _Lent:
    transport: httpx.AsyncBaseTransport
    users: int = 0
    used_s: float = 0.0


class Transports:
    """Lends the transport for an order."""

    def __init__(self, guard: Guard, *, authority: str | None = None) -> None:
        self._backend = PinningBackend(guard)
        self._authority = authority
        """PEM file of one more certificate authority, for tests and company networks."""
        self._pools: OrderedDict[Key, _Lent] = OrderedDict()
        self._context = cache(self._new_context)

    @asynccontextmanager
    async def lend(self, order: Order) -> AsyncIterator[httpx.AsyncBaseTransport]:
        """The transport for this order's origin, as long as the block lasts."""
        key = (order.url[: order.url.find("/", 8)], order.http2, order.verify_tls, order.proxy)
        lent = self._pools.get(key)
        if lent is None:
            lent = self._pools[key] = _Lent(_Pooled(self._new_pool(order)))
            await self._trim()
        else:
            self._pools.move_to_end(key)
        lent.users += 1
        try:
            yield lent.transport
        finally:
            lent.users -= 1
            lent.used_s = time.monotonic()

    async def close(self) -> None:
        """Close all connections."""
        for lent in self._pools.values():
            await lent.transport.aclose()
        self._pools.clear()

    async def _trim(self) -> None:
        """Close pools that nobody uses: the oldest above the limit, and those whose connections have expired."""
        expired_s = time.monotonic() - KEEP_ALIVE_S
        for key, lent in list(self._pools.items())[:16]:
            if lent.users == 0 and lent.used_s and (len(self._pools) > MAX_POOLS or lent.used_s < expired_s):
                self._pools.pop(key, None)
                await lent.transport.aclose()

    def _new_pool(self, order: Order) -> httpcore.AsyncConnectionPool:
        secure = order.url.startswith("https:")
        context = self._context(order.verify_tls, order.http2) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if order.proxy is None:
            return httpcore.AsyncConnectionPool(
                ssl_context=context,
                max_connections=None,
                max_keepalive_connections=MAX_IDLE,
                keepalive_expiry=KEEP_ALIVE_S,
                http2=order.http2,
                network_backend=self._backend,
            )
        proxy = httpx.Proxy(order.proxy)
        url = httpcore.URL(
            scheme=b"socks5" if proxy.url.scheme == "socks5h" else proxy.url.raw_scheme,
            host=proxy.url.raw_host,
            port=proxy.url.port,
            target=b"/",
        )
        if proxy.url.scheme.startswith("socks"):
            return httpcore.AsyncSOCKSProxy(
                proxy_url=url,
                proxy_auth=proxy.raw_auth,
                ssl_context=context,
                max_connections=None,
                max_keepalive_connections=MAX_IDLE,
                keepalive_expiry=KEEP_ALIVE_S,
                http2=order.http2,
                network_backend=self._backend,
            )
        return httpcore.AsyncHTTPProxy(
            proxy_url=url,
            proxy_auth=proxy.raw_auth,
            ssl_context=context,
            proxy_ssl_context=self._context(True, False) if proxy.url.scheme == "https" else None,
            max_connections=None,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=KEEP_ALIVE_S,
            http2=order.http2,
            network_backend=self._backend,
        )

    def _new_context(self, verify: bool, http2: bool) -> ssl.SSLContext:  # noqa: ARG002, FBT001  (http2 tells them apart: httpcore sets ALPN on it)
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(certifi.where())
        if self._authority is not None:
            context.load_verify_locations(self._authority)
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
