"""httpcore's connections, opened only to addresses that were checked."""

import time
from collections.abc import Iterable
from typing import Any

import httpcore

from odradek.resolve import Guard


class PinningBackend(httpcore.AsyncNetworkBackend):
    """Resolves and checks a host by the guard, then connects to the address itself; TLS still verifies the name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address that answers.

        Raises:
            NameFailure, PrivateAddress: see `Guard`.
            httpcore.ConnectError, httpcore.ConnectTimeout: no address answers in time.
        """
        self.asked()
        begun = time.perf_counter()
        addresses = await self._guard.addresses(host)
        resolved = time.perf_counter()
        self.resolved((resolved - begun) * 1000)
        failure: Exception | None = None
        for place, address in enumerate(addresses):
            share = None if timeout is None else timeout / (len(addresses) - place)
            try:
                stream = await self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                timeout = None if timeout is None else max(timeout - (share or 0), 0.1)
                continue
            self.connected(address, (time.perf_counter() - resolved) * 1000)
            return stream
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        """As httpcore wants it."""
        await self._inner.sleep(seconds)

    def asked(self) -> None:
        """A connection is wanted."""

    def resolved(self, took_ms: float) -> None:
        """The host has addresses, and all may be connected to."""

    def connected(self, address: str, took_ms: float) -> None:
        """The connection is there."""
