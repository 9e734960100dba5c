"""A site that does everything wrong, on purpose, from raw sockets; and the answer sheet that goes with it.

    async with HostileSite() as site: ... site.url("drip") ...

A behaviour is a coroutine that gets the request's head and writes whatever it likes. `SHEET` says what a fetcher has to
make of each: outcome, reason, and what else is told. Its times fit the short limits that the sheet names.
"""

import asyncio
import gzip
import socket
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

READ_S, SLOW_AFTER_S, TOTAL_S = 0.5, 0.4, 1.5
"""Limits of a fetcher that the sheet's times are made for."""
MAX_BYTES = 1024 * 1024
MIB = 1024 * 1024
HTML = b"<!doctype html><title>Hostile</title><p>Nobody here means well."
ZEROS = bytes(16 * MIB)


@dataclass(frozen=True, slots=True)
class Expected:
    """What becomes of a URL. `size_bytes` and `truncated` count for pages that are kept."""

    outcome: str
    reason: str | None = None
    status: int | None = None
    size_bytes: int | None = None
    truncated: bool = False


class Talk:
    """One request and the socket it came on."""

    def __init__(self, head: bytes, writer: asyncio.StreamWriter, seen: int) -> None:
        self.head, self.writer, self.seen = head, writer, seen
        self.path = head.split(b" ", 2)[1].decode("latin-1")

    async def say(self, *pieces: bytes) -> None:
        """Write, and wait until it is on its way."""
        for piece in pieces:
            self.writer.write(piece)
        await self.writer.drain()

    async def page(self, *headers: bytes, body: bytes = HTML, status: bytes = b"200 OK") -> None:
        """A decent answer, apart from these headers."""
        names = b"\r\n".join((b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers))
        kind = b"" if b"content-type" in names.lower() else b"\r\nContent-Type: text/html"
        await self.say(names + kind + b"\r\n\r\n" + body)

    async def close(self) -> None:
        """Hang up politely."""
        self.writer.close()

    async def reset(self) -> None:
        """Hang up with a TCP reset."""
        found: socket.socket = self.writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour = Callable[[Talk], Awaitable[None]]
SHEET: dict[str, Expected] = {}
_BEHAVIOURS: dict[str, Behaviour] = {}
KEPT = Expected("fetched", None, 200, len(HTML))


def case(name: str, expected: Expected) -> Callable[[Behaviour], Behaviour]:
    """Register a behaviour with its line of the sheet."""

    def add(behaviour: Behaviour) -> Behaviour:
        SHEET[name], _BEHAVIOURS[name] = expected, behaviour
        return behaviour

    return add


def failed(reason: str, status: int | None = None) -> Expected:
    """A line of the sheet."""
    return Expected("failed", reason, status)


def raw(name: str, expected: Expected, *pieces: bytes, then: str = "close") -> None:
    """A case that only writes these bytes, and closes, resets or keeps the connection."""

    async def behaviour(talk: Talk) -> None:
        await talk.say(*pieces)
        if then == "close":
            await talk.close()
        elif then == "reset":
            await asyncio.sleep(0.05)
            await talk.reset()

    case(name, expected)(behaviour)


def answered(name: str, expected: Expected, *headers: bytes, body: bytes = HTML, status: bytes = b"200 OK") -> None:
    """A case that is a well-framed answer."""

    async def behaviour(talk: Talk) -> None:
        await talk.page(*headers, body=body, status=status)

    case(name, expected)(behaviour)


def _bomb(coding: str) -> bytes:
    if coding == "br":
        return bytes(brotli.compress(ZEROS, quality=5))
    if coding == "zstd":
        return zstandard.ZstdCompressor().compress(ZEROS)
    if coding == "deflate":
        return zlib.compress(ZEROS, 9)
    return gzip.compress(ZEROS, 9)


class HostileSite:
    """Serves the cases, or behaviours of your own by name, on a free port of 127.0.0.1."""

    def __init__(self, behaviours: Mapping[str, Behaviour] = _BEHAVIOURS) -> None:
        self._behaviours = behaviours
        self.seen: Counter[str] = Counter()
        self.heads: list[bytes] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, name: str) -> str:
        """Address of a case."""
        return f"http://127.0.0.1:{self.port}/{name}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                name = head.split(b" ", 2)[1].decode("latin-1").removeprefix("/").partition("?")[0]
                self.seen[name] += 1
                self.heads.append(head)
                await self._behaviours[name.partition("/")[0]](Talk(head, writer, self.seen[name]))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the fetcher hung up, as it should, or the site closes
        finally:
            writer.close()
