"""A pool of httpcore's connections behind httpx's transport: HTTP/2 and proxies, and later tries."""

from collections.abc import AsyncIterator, Sequence
from functools import lru_cache
from typing import Any

import httpcore
import httpx

from odradek_fetcher.core.answers import Limits, Order
from odradek_fetcher.replies import split


class PooledCarrier(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool that is made elsewhere."""

    def __init__(self, pool: httpcore.AsyncConnectionPool, limits: Limits) -> None:
        self._pool, self._limits = pool, limits

    @property
    def idle(self) -> bool:
        """True when no exchange is under way."""
        return all(connection.is_idle() or connection.is_closed() for connection in self._pool.connections)

    async def carry(self, order: Order, pinned: str | None) -> "_Reply":
        """See `Carrier`."""
        origin, target = split(order.url)
        root, headers, extensions = _root(origin), list(order.headers), self._extensions(target)
        if pinned is not None:
            headers.append(("host", root.netloc.decode()))
            extensions["sni_hostname"] = order.host.strip("[]")
            root = root.copy_with(host=pinned)
        elif order.proxy is not None and order.proxy.startswith("http"):
            del extensions["target"]  # httpcore would send it in place of what the proxy has to see
            root = httpx.URL(order.url)
        request = httpx.Request(order.method, root, headers=headers, content=order.body, extensions=extensions)
        return _Reply(await self.handle_async_request(request))

    def _extensions(self, target: str) -> dict[str, Any]:
        connect_s, read_s = self._limits.connect_s, self._limits.read_s
        return {
            "timeout": {"connect": connect_s, "read": read_s, "write": read_s, "pool": connect_s},
            "target": target.encode(),
        }


class _Reply:
    """httpx's answer."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Sequence[tuple[bytes, bytes]] = response.headers.raw
        self.version: str = response.extensions.get("http_version", b"").decode()

    @property
    def address(self) -> str | None:
        stream = self._response.extensions.get("network_stream")
        peer = None if stream is None else stream.get_extra_info("server_addr")
        return str(peer[0]) if peer else None

    def pieces(self) -> AsyncIterator[bytes]:
        stream: Any = self._response.stream
        chunks: AsyncIterator[bytes] = stream.__aiter__()
        return chunks

    async def aclose(self) -> None:
        await self._response.aclose()


@lru_cache(maxsize=4096)
def _root(origin: str) -> httpx.URL:
    return httpx.URL(origin)
