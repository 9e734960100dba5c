"""A transport of httpx on aiohttp's connections: HTTP/1.1 at a quarter of httpcore's price.

aiohttp decides nothing here: no redirects, cookies, decoding, environment or DNS cache of its own, and a name is
resolved by the guard alone. HTTP/2 and proxies stay with httpcore.
"""

import socket
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from multidict import CIMultiDict
from yarl import URL

from odradek.resolve import Guard
from odradek_fetcher.probe import PROBE, Probe
from odradek_fetcher.tls import Contexts

MAX_LINE_BYTES = 64 * 1024
"""Of one header and of the status line."""
MAX_HEADERS = 256
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class _GuardedNames(AbstractResolver):
    """aiohttp's question for addresses, answered by the guard."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002  (aiohttp's signature)
    ) -> list[ResolveResult]:
        """The checked addresses of a host."""
        addresses = await self._guard.addresses(host)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


class _Connector(aiohttp.TCPConnector):
    """Notes what the exchange needs to know about its connection."""

    def __init__(self, guard: Guard, **options: Any) -> None:
        super().__init__(resolver=_GuardedNames(guard), use_dns_cache=False, limit=0, **options)
        self._guard = guard
        self._factory = partial(_connected, self._factory)

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109  (aiohttp's signature)
        """A kept connection or a new one."""
        connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        peer = None if transport is None else transport.get_extra_info("peername")
        if peer:
            (PROBE.get(None) or Probe()).address = peer[0]
        return connection

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109  (aiohttp's)
        """Checks literal addresses too, for which aiohttp asks no resolver."""
        probe = PROBE.get(None) or Probe()
        probe.opened = True
        begun = time.perf_counter()
        await self._guard.addresses(req.url.raw_host)
        probe.dialled_s = time.perf_counter()
        probe.dns_ms = (probe.dialled_s - begun) * 1000
        protocol = await super()._create_connection(req, traces, timeout)
        if req.is_ssl():
            probe.tls_ms = (time.perf_counter() - probe.dialled_s) * 1000 - (probe.connect_ms or 0)
        return protocol


def _connected(factory: Callable[[], ResponseHandler]) -> ResponseHandler:
    """What asyncio asks for between the TCP connection and the TLS handshake."""
    probe = PROBE.get(None) or Probe()
    probe.connect_ms = (time.perf_counter() - probe.dialled_s) * 1000
    return factory()


class _Body(httpx.AsyncByteStream):
    """The raw body; left before its end, the connection is closed."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._response.content
        while chunk := await content.readany():
            yield chunk

    async def aclose(self) -> None:
        """Give the connection back when all was read, else close it."""
        self._response.close()


class QuickTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 for all origins."""

    def __init__(
        self, guard: Guard, contexts: Contexts, *, connect_s: float, read_s: float, keep_alive_s: float
    ) -> None:
        self._options = {"keepalive_timeout": keep_alive_s}
        self._guard, self._contexts = guard, contexts
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_s, sock_read=read_s)
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; extensions `url` (untouched) and `verify_tls`. Raises what aiohttp raises."""
        session = self._session or self._open()
        extensions = request.extensions
        url: str = extensions["url"]
        secure = url.startswith("https:")
        response = await session.request(
            request.method,
            URL(url, encoded=True),
            headers=CIMultiDict(request.headers.multi_items()),
            data=request.content or None,
            allow_redirects=False,
            ssl=self._contexts.get(verify=extensions["verify_tls"], http2=False) if secure else True,
        )
        version = response.version
        return httpx.Response(
            response.status,
            headers=response.raw_headers,
            stream=_Body(response),
            extensions={"http_version": b"HTTP/1.0" if version is not None and version.minor == 0 else b"HTTP/1.1"},
        )

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=_Connector(self._guard, **self._options),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=_AUTOMATIC,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        return self._session
