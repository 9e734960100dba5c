"""Pinned connections of httpcore that note what an exchange saw on its way."""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from odradek.pinning import PinningBackend
from odradek_fetcher.probe import PROBE, Probe


class ProbedBackend(PinningBackend):
    """Tells the probe of the exchange that opens a connection."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """See `PinningBackend`."""
        stream = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        probe = _probe()
        probe.stream = _Timed(stream, probe)
        return probe.stream

    def asked(self) -> None:
        """Note that a connection was opened or tried."""
        _probe().opened = True

    def resolved(self, took_ms: float) -> None:
        """Note the time of the look-up."""
        _probe().dns_ms = took_ms

    def connected(self, address: str, took_ms: float) -> None:
        """Note where the connection leads."""
        probe = _probe()
        probe.address, probe.connect_ms = address, took_ms


class _Timed(httpcore.AsyncNetworkStream):
    """A TCP connection that notes how long its TLS handshake takes; what comes of that is httpcore's own stream."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, probe: Probe) -> None:
        self._inner, self._probe = inner, probe

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  (httpcore's signature)
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  (httpcore's signature)
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
    ) -> httpcore.AsyncNetworkStream:
        begun = time.perf_counter()
        secure = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        self._probe.tls_ms = (time.perf_counter() - begun) * 1000
        return secure


def _probe() -> Probe:
    return PROBE.get(None) or Probe()
