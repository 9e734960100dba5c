"""One HTTP exchange, guarded: httpx's transports, without the parts of a client that decide for themselves.

No redirects, no cookies, no proxies of the environment, no decoding in one go; every connection is opened to a checked
address. What comes of an exchange is always an `Answer`, never an exception.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import lru_cache
from typing import Any, Protocol

import httpx

from odradek.contracts import Timings
from odradek.resolve import Guard
from odradek_fetcher.core import media
from odradek_fetcher.core.answers import Answer, Deadline, Failure, Headers, Limits, Order
from odradek_fetcher.core.decoding import DecodeFailure, Decoder
from odradek_fetcher.failures import TooSlow, failure_of
from odradek_fetcher.probe import PROBE, Probe
from odradek_fetcher.transports import HTTP2, Transports

ERROR_BODY_BYTES = 64 * 1024
"""Read of an answer that is no success: enough to know a challenge, and to use the connection again."""
SPARE_BYTES = 64 * 1024
"""A coded body may be so much longer than what it stands for, and is cut beyond: padding without end is no page."""
STALE_TRIES = 2
"""A kept connection that the site closed meanwhile is no failure; so often another one is taken."""
STATUSES = range(100, 1000)
"""RFC 9110 section 15; httpcore takes any number over HTTP/2."""
LONGEST_LENGTH = 18
"""Digits of a Content-Length that is told; no store keeps larger numbers."""
PROXY_REFUSES = 407
"""Proxy Authentication Required: never the site's answer."""
_SAFE = frozenset(("GET", "HEAD"))
_NO_BODY = frozenset((204, 205, 304))


class Fetch(Protocol):
    """The seam: whatever can carry out an order."""

    async def fetch(self, order: Order, deadline: Deadline) -> Answer:
        """Carry out one exchange; trouble is a value of the answer."""


class HttpFetch:
    """Carries out orders with httpx."""

    def __init__(self, transports: Transports, guard: Guard, limits: Limits) -> None:
        self._transports, self._guard, self._limits = transports, guard, limits

    async def fetch(self, order: Order, deadline: Deadline) -> Answer:
        """See `Fetch`."""
        exchange = _Exchange(order, self._limits)
        try:
            async with asyncio.timeout_at(deadline.at_s):
                await self._run(exchange, order)
                for _ in range(STALE_TRIES):
                    if not exchange.stale:
                        break
                    exchange = _Exchange(order, self._limits)
                    await self._run(exchange, order)
        except TimeoutError:
            exchange.body = None
            exchange.failure = Failure("timeout_total", f"no whole answer within {deadline.total_s:g} s")
        return exchange.answer()

    async def _run(self, exchange: "_Exchange", order: Order) -> None:
        token = PROBE.set(exchange.probe)
        try:
            if order.proxy is not None:
                addresses = await self._guard.addresses(order.host)
                exchange.pinned = addresses[0] if order.proxy.startswith("socks5:") else None
            exchange.transport = await self._transports.transport(order)
            await exchange.run(exchange.transport)
            self._transports.answered(order, exchange.protocol or "")
        except Exception as error:  # noqa: BLE001  (a site must not end the process; `failure_of` sorts them)
            exchange.fail(error)
        finally:
            PROBE.reset(token)
            if exchange.transport is not None and exchange.left_early:
                self._transports.retire(order, exchange.transport)
            if order.proxy is not None and exchange.response is None and exchange.probe.stream is not None:
                await exchange.probe.stream.aclose()


class _Exchange:
    """The state of one exchange while it runs."""

    def __init__(self, order: Order, limits: Limits) -> None:
        self.order, self.limits = order, limits
        self.probe = Probe()
        self.begun = time.perf_counter()
        self.first_byte_ms: float | None = None
        self.transport: httpx.AsyncBaseTransport | None = None
        self.response: httpx.Response | None = None
        self.whole = False
        """The answer was read to its end."""
        self.headers = Headers()
        self.body: bytes | None = None
        self.truncated = False
        self.unwanted = False
        self.failure: Failure | None = None
        self.pinned: str | None = None
        """Address that a SOCKS proxy is told instead of the name; other proxies look names up themselves."""

    @property
    def stale(self) -> bool:
        """True when a connection that was used again had been closed by the site before it got this request."""
        failed = self.failure is not None and self.failure.reason in ("reset", "protocol")
        return failed and self.response is None and not self.probe.opened and self.order.method in _SAFE

    @property
    def left_early(self) -> bool:
        """True when a stream of HTTP/2 may still be open; HTTP/1.1 closes the connection by itself."""
        return not self.whole and self.protocol in (None, HTTP2)

    @property
    def protocol(self) -> str | None:
        """The version of HTTP in which the site answered."""
        extensions = {} if self.response is None else self.response.extensions
        return extensions.get("http_version", b"").decode() or None

    async def run(self, transport: httpx.AsyncBaseTransport) -> None:
        """Send the order and read the answer."""
        root, target = _split(self.order.url)
        headers = list(self.order.headers)
        extensions = self._extensions(target)
        if self.pinned is not None:
            headers.append(("host", root.netloc.decode()))
            extensions["sni_hostname"] = self.order.host.strip("[]")
            root = root.copy_with(host=self.pinned)
        elif self.order.proxy is not None and self.order.proxy.startswith("http"):
            del extensions["target"]  # httpcore would send it in place of what the proxy has to see
            root = httpx.URL(self.order.url)
        request = httpx.Request(
            self.order.method, root, headers=headers, content=self.order.body, extensions=extensions
        )
        self.response = response = await transport.handle_async_request(request)
        self.first_byte_ms = self._elapsed_ms()
        self.headers = Headers(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw
        )
        self._note_address(response)
        try:
            if self.order.proxy is not None and response.status_code == PROXY_REFUSES:
                raise httpx.ProxyError("the proxy wants other credentials")
            if response.status_code not in STATUSES:
                raise httpx.RemoteProtocolError(f"the status {str(response.status_code)[:20]} has not three digits")
            await self._read(response)
        finally:
            await response.aclose()

    def fail(self, error: Exception) -> None:
        """Note why the exchange ended early."""
        self.body = None
        self.failure = failure_of(error, proxied=self.order.proxy is not None, answered=self.response is not None)

    def answer(self) -> Answer:
        """What came of it."""
        response, order = self.response, self.order
        return Answer(
            url=order.url,
            status=None if response is None or response.status_code not in STATUSES else response.status_code,
            headers=self.headers,
            body=self.body,
            truncated=self.truncated,
            declared_bytes=_length(self.headers.all("content-length")),
            failure=self.failure,
            unwanted=self.unwanted,
            timings=Timings(
                dns_ms=_rounded(self.probe.dns_ms),
                connect_ms=_rounded(self.probe.connect_ms),
                tls_ms=_rounded(self.probe.tls_ms),
                first_byte_ms=_rounded(self.first_byte_ms),
                total_ms=round(self._elapsed_ms(), 3),
            ),
            remote_address=self.probe.address,
            protocol=self.protocol,
            tls_verified=order.verify_tls if order.url.startswith("https:") else None,
        )

    async def _read(self, response: httpx.Response) -> None:
        if self.order.method == "HEAD" or response.status_code in _NO_BODY:
            self.body, self.whole = b"", True
            return
        success = response.is_success
        kind = media.media_type(self.headers.get("content-type"))
        if success and not media.accepted(kind, self.order.accept):
            self.unwanted = True
            return
        try:
            decoder = Decoder(self.headers.get("content-encoding"), self.limits)
            room = self.order.max_bytes if success else ERROR_BODY_BYTES
            body = await self._body(response.stream, decoder, room, sniff=success and kind is None)
        except DecodeFailure:
            if success:
                raise
            return
        self.body = body
        self.truncated = self.truncated or (success and response.status_code == 206)  # noqa: PLR2004  (RFC 9110 15.3.7)

    async def _body(self, stream: Any, decoder: Decoder, room: int, *, sniff: bool) -> bytes | None:
        pieces: list[bytes] = []
        most_received = room + SPARE_BYTES
        begun = time.perf_counter()
        chunks: AsyncIterator[bytes] = stream.__aiter__()
        async with aclosing(chunks):  # type: ignore[type-var]  # httpcore and ours are generators
            async for raw in chunks:
                for piece in decoder.pieces(raw):
                    if sniff and not pieces and self.order.accept is not None and media.looks_binary(piece):
                        self.unwanted = True
                        return None
                    pieces.append(piece[:room])
                    if len(piece) > room:
                        self.truncated = True
                        return b"".join(pieces)
                    room -= len(piece)
                if decoder.received_bytes > most_received:
                    self.truncated = True
                    return b"".join(pieces)
                self._watch_rate(time.perf_counter() - begun, decoder.received_bytes)
        self.whole = True
        decoder.finish()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _watch_rate(self, elapsed_s: float, received_bytes: int) -> None:
        limits = self.limits
        if elapsed_s > limits.slow_after_s and received_bytes < limits.slow_bytes_per_s * elapsed_s:
            raise TooSlow(f"{received_bytes} bytes in {elapsed_s:.1f} s are below {limits.slow_bytes_per_s} a second")

    def _extensions(self, target: str) -> dict[str, Any]:
        limits = self.limits
        return {
            "timeout": {
                "connect": limits.connect_s,
                "read": limits.read_s,
                "write": limits.read_s,
                "pool": limits.connect_s,
            },
            "target": target.encode(),
            "url": self.order.url,
            "verify_tls": self.order.verify_tls,
        }

    def _note_address(self, response: httpx.Response) -> None:
        if self.probe.address is None:
            stream = response.extensions.get("network_stream")
            peer = None if stream is None else stream.get_extra_info("server_addr")
            self.probe.address = str(peer[0]) if peer else None

    def _elapsed_ms(self) -> float:
        return (time.perf_counter() - self.begun) * 1000


def _split(url: str) -> tuple[httpx.URL, str]:
    """The origin, and the rest byte for byte as the site gave it."""
    path = url.find("/", url.find("://") + 3)
    return (_origin(url[:path]), url[path:]) if path > 0 else (_origin(url), "/")


@lru_cache(maxsize=4096)
def _origin(text: str) -> httpx.URL:
    return httpx.URL(text)


def _length(values: list[str]) -> int | None:
    """The declared length; null when absent or wrong in form."""
    digits = values[0] if len(values) == 1 and len(values[0]) <= LONGEST_LENGTH else ""
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
