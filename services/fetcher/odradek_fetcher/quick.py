"""HTTP/1.1 on aiohttp's connections and parser, without its client: a sixth of httpcore's price.

What a client decides (redirects, cookies, decoding, environment, tries of its own) is decided elsewhere or not at all,
so only its pool and its protocol are used, and a name is resolved by the guard alone. HTTP/2 and proxies stay with
httpcore.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from odradek.resolve import Guard
from odradek_fetcher.core.answers import Limits, Order
from odradek_fetcher.probe import PROBE, Probe
from odradek_fetcher.replies import split
from odradek_fetcher.tls import Contexts

MAX_LINE_BYTES = 64 * 1024
"""Of one header and of the status line."""
MAX_HEADERS = 256
MAX_SITES = 4096
"""Origins of which the questions for connections are kept."""
BUFFER_BYTES = 64 * 1024
"""Of a body that nobody has taken yet; twice as much, and no more is read."""
INFORMATIONAL = range(100, 200)
SWITCHING = 101
"""The one informational answer that is the last (RFC 9110 section 15.2.2)."""
_NO_BODY_MEANT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Any other method says also that it has no body (RFC 9110 section 8.6)."""


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


class _Reply:
    """The head of an answer, and its body on a connection; whose end gives the connection back."""

    __slots__ = ("_connection", "_content", "address", "headers", "status", "version")

    def __init__(self, message: RawResponseMessage, content: StreamReader, connection: Connection) -> None:
        self.status: int = message.code
        self.headers: Sequence[tuple[bytes, bytes]] = message.raw_headers
        self.version = "HTTP/1.0" if message.version.minor == 0 else "HTTP/1.1"
        self.address: str | None = None  # the connection has told the probe
        self._content, self._connection = content, connection
        if not message.upgrade:
            content.on_eof(connection.release)

    async def pieces(self) -> AsyncIterator[bytes]:
        content = self._content
        while chunk := await content.readany():
            yield chunk

    async def aclose(self) -> None:
        self._connection.close()


class QuickCarrier:
    """HTTP/1.1 for all origins."""

    def __init__(self, guard: Guard, contexts: Contexts, limits: Limits, *, keep_alive_s: float) -> None:
        self._keep_alive_s, self._read_s = keep_alive_s, limits.read_s
        self._guard, self._contexts = guard, contexts
        self._timeout = aiohttp.ClientTimeout(total=None, connect=limits.connect_s)
        self._connector: _Connector | None = None
        self._sites: dict[tuple[str, bool], aiohttp.ClientRequest] = {}

    async def carry(self, order: Order, pinned: str | None = None) -> _Reply:  # noqa: ARG002  (proxies stay elsewhere)
        """See `Carrier`."""
        connector = self._connector
        if connector is None:
            connector = self._connector = _Connector(self._guard, keepalive_timeout=self._keep_alive_s)
        origin, target = split(order.url)
        try:
            connection = await connector.connect(self._site(origin, verify=order.verify_tls), [], self._timeout)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"no connection to {origin} in time") from error
        try:
            return await self._ask(connection, order, origin, target)
        except BaseException:
            connection.close()
            raise

    async def aclose(self) -> None:
        """Close all connections."""
        if self._connector is not None:
            await self._connector.close()
            self._connector = None

    async def _ask(self, connection: Connection, order: Order, origin: str, target: str) -> _Reply:
        protocol = connection.protocol
        if protocol is None or protocol.transport is None:
            raise aiohttp.ClientConnectionResetError("the connection is closed")
        protocol.set_response_params(
            skip_payload=order.method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=self._read_s,
            read_bufsize=BUFFER_BYTES,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        protocol.transport.write(head(order, origin, target) + (order.body or b""))
        protocol.start_timeout()
        while True:
            message, content = await protocol.read()
            if message.code not in INFORMATIONAL or message.code == SWITCHING:
                return _Reply(message, content, connection)

    def _site(self, origin: str, *, verify: bool) -> aiohttp.ClientRequest:
        """What aiohttp's pool is asked with; it reads the origin and the TLS context, and sends nothing of it."""
        found = self._sites.get((origin, verify))
        if found is None:
            context = self._contexts.get(verify=verify, http2=False) if origin.startswith("https:") else True
            url = URL(f"{origin}/", encoded=True)
            found = aiohttp.ClientRequest("GET", url, loop=asyncio.get_running_loop(), ssl=context)
            self._sites[origin, verify] = found
            if len(self._sites) > MAX_SITES:
                del self._sites[next(iter(self._sites))]
        return found


def head(order: Order, origin: str, target: str) -> bytes:
    """Request line and headers (RFC 9112 sections 3 and 5).

    Raises:
        aiohttp.InvalidURL: the target has characters that would end the line; a serialised URL has none.
    """
    if not target.isascii() or not target.isprintable() or " " in target:
        raise aiohttp.InvalidURL(order.url, "its path cannot be sent")
    size = len(order.body or b"")
    told = f"Content-Length: {size}\r\n" if size or order.method not in _NO_BODY_MEANT else ""
    host = origin[origin.find("://") + 3 :]
    return f"{order.method} {target} HTTP/1.1\r\nHost: {host}\r\n{told}{_lines(order.headers)}\r\n".encode("latin-1")


@lru_cache(maxsize=1024)
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    """Headers as they are sent; they are the same for page after page of a job.

    Raises:
        ValueError: a name or value has characters that would end the line; a plan has looked at them before.
    """
    if any(not (name + value).isascii() or "\r" in name + value or "\n" in name + value for name, value in headers):
        raise ValueError("a header of the request cannot be sent")
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
