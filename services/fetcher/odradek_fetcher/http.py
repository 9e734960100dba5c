"""One HTTP exchange, guarded: carried by aiohttp or httpx, without the parts of a client that decide for themselves.

No redirects, no cookies, no proxies of the environment, no decoding in one go; every connection is opened to a checked
address. What comes of an exchange is always an `Answer`, never an exception.
"""

import asyncio
import time
from contextlib import aclosing
from typing import Protocol

import httpx

from odradek.contracts import Timings
from odradek.resolve import Guard
from odradek_fetcher.core import media
from odradek_fetcher.core.answers import Answer, Deadline, Failure, Headers, Limits, Order
from odradek_fetcher.core.decoding import DecodeFailure, Decoder
from odradek_fetcher.core.verdicts import SUCCESS
from odradek_fetcher.failures import TooSlow, failure_of
from odradek_fetcher.probe import PROBE, Probe
from odradek_fetcher.replies import Carrier, Reply
from odradek_fetcher.transports import HTTP2, Transports

ERROR_BODY_BYTES = 64 * 1024
"""Read of an answer that is no success: enough to know a challenge, and to use the connection again."""
SPARE_BYTES = 64 * 1024
"""A coded body may be so much longer than what it stands for, and is cut beyond: padding without end is no page."""
STALE_TRIES = 5
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
            exchange.carrier = await self._transports.carrier(order)
            await exchange.run(exchange.carrier)
            self._transports.answered(order, exchange.protocol or "")
        except Exception as error:  # noqa: BLE001  (a site must not end the process; `failure_of` sorts them)
            exchange.fail(error)
        finally:
            PROBE.reset(token)
            if exchange.carrier is not None and exchange.left_early:
                self._transports.retire(order, exchange.carrier)
            if order.proxy is not None and exchange.reply is None and exchange.probe.stream is not None:
                await exchange.probe.stream.aclose()


class _Exchange:
    """The state of one exchange while it runs."""

    def __init__(self, order: Order, limits: Limits) -> None:
        self.order, self.limits = order, limits
        self.probe = Probe()
        self.begun = time.perf_counter()
        self.first_byte_ms: float | None = None
        self.carrier: Carrier | None = None
        self.reply: Reply | None = None
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
        return failed and self.reply is None and not self.probe.opened and self.order.method in _SAFE

    @property
    def left_early(self) -> bool:
        """True when a stream of HTTP/2 may still be open; HTTP/1.1 closes the connection by itself."""
        return not self.whole and self.protocol in (None, HTTP2)

    @property
    def protocol(self) -> str | None:
        """The version of HTTP in which the site answered."""
        return None if self.reply is None else self.reply.version or None

    async def run(self, carrier: Carrier) -> None:
        """Send the order and read the answer."""
        self.reply = reply = await carrier.carry(self.order, self.pinned)
        self.first_byte_ms = self._elapsed_ms()
        self.headers = Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in reply.headers)
        if self.probe.address is None:
            self.probe.address = reply.address
        try:
            if self.order.proxy is not None and reply.status == PROXY_REFUSES:
                raise httpx.ProxyError("the proxy wants other credentials")
            if reply.status not in STATUSES:
                raise httpx.RemoteProtocolError(f"the status {str(reply.status)[:20]} has not three digits")
            await self._read(reply)
        finally:
            await reply.aclose()

    def fail(self, error: Exception) -> None:
        """Note why the exchange ended early."""
        self.body = None
        self.failure = failure_of(error, proxied=self.order.proxy is not None, answered=self.reply is not None)

    def answer(self) -> Answer:
        """What came of it."""
        reply, order = self.reply, self.order
        return Answer(
            url=order.url,
            status=None if reply is None or reply.status not in STATUSES else reply.status,
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

    async def _read(self, reply: Reply) -> None:
        if self.order.method == "HEAD" or reply.status in _NO_BODY:
            self.body, self.whole = b"", True
            return
        success = reply.status in SUCCESS
        kind = media.media_type(self.headers.get("content-type"))
        if success and not media.accepted(kind, self.order.accept):
            self.unwanted = True
            return
        try:
            decoder = Decoder(self.headers.get("content-encoding"), self.limits)
            room = self.order.max_bytes if success else ERROR_BODY_BYTES
            body = await self._body(reply, decoder, room, sniff=success and kind is None)
        except DecodeFailure:
            if success:
                raise
            return
        self.body = body
        self.truncated = self.truncated or (success and reply.status == 206)  # noqa: PLR2004  (RFC 9110 15.3.7)

    async def _body(self, reply: Reply, decoder: Decoder, room: int, *, sniff: bool) -> bytes | None:
        pieces: list[bytes] = []
        most_received = room + SPARE_BYTES
        begun = time.perf_counter()
        chunks = reply.pieces()
        async with aclosing(chunks):  # type: ignore[type-var]  # httpcore's and ours are generators
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

    def _elapsed_ms(self) -> float:
        return (time.perf_counter() - self.begun) * 1000


def _length(values: list[str]) -> int | None:
    """The declared length; null when absent or wrong in form."""
    digits = values[0] if len(values) == 1 and len(values[0]) <= LONGEST_LENGTH else ""
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
