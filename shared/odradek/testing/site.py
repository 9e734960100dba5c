"""A catalogue site on loopback: a closed graph of pages, each with links and product cards, served from memory.

Page i lies on host i % hosts (127.0.0.1, 127.0.0.2, …), carries its neighbours, its two children and a few far
pages as links, and `cards` product cards. Following every link from page 0 reaches each page exactly once, so a
crawl has known totals. Every answer is noted with its time, so that a test can ask the site itself what it saw.

    python -m odradek.testing.site --pages 5000 --hosts 20 --port 8088
"""

import argparse
import asyncio
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

WORDS = (
    "anvil birch cobalt drift ember fjord gable hazel iris juniper kelp loom mallow nettle onyx pewter quill "
    "russet sable thyme umber vetch willow yarrow zinc"
).split()

ROBOTS = b"User-agent: *\nDisallow:\n"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the site consists of; the same numbers always give the same pages."""

    pages: int = 5000
    hosts: int = 20
    port: int = 8088
    cards: int = 10
    words_per_card: int = 130
    far_links: int = 14
    first_host: int = 1
    """Last number of the first host's address."""

    def url(self, page: int) -> str:
        """Address of a page."""
        page %= self.pages
        return f"http://127.0.0.{self.first_host + page % self.hosts}:{self.port}/p/{page}.html"

    def addresses(self) -> list[str]:
        """The hosts, as a job's `allowed_domains` wants them."""
        return [f"127.0.0.{self.first_host + host}" for host in range(self.hosts)]

    def links(self, page: int) -> list[str]:
        """Outlinks of a page: navigation, neighbours, two children, and a few far away."""
        rng = random.Random(page)
        near = [page + step for step in (1, 2, 3, -1, -2, -3)] + [2 * page + 1, 2 * page + 2]
        far = [rng.randrange(self.pages) for _ in range(self.far_links)]
        return [self.url(target) for target in [*range(min(20, self.pages)), *near, *far]]

    def body(self, page: int) -> bytes:
        """The HTML of a page."""
        rng = random.Random(page)
        links = "\n".join(
            f'<li><a href="{url}">{rng.choice(WORDS)} {place}</a></li>' for place, url in enumerate(self.links(page))
        )
        cards = "".join(self._card(page, place, rng) for place in range(self.cards))
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page {page}</title>'
            f"</head><body><h1>Page {page}</h1><ul>{links}</ul><main>{cards}</main></body></html>"
        ).encode()

    def _card(self, page: int, place: int, rng: random.Random) -> str:
        return (
            f'<article class="product" data-sku="{page:07d}-{place}">'
            f'<h3 class="title">{" ".join(rng.choices(WORDS, k=3)).title()}</h3>'
            f'<p class="price">EUR {rng.randrange(100, 99_999) / 100:.2f}</p>'
            f'<p class="stock">{rng.choice(("In stock", "Sold out"))}</p>'
            f'<p class="about">{" ".join(rng.choices(WORDS, k=self.words_per_card))}.</p></article>'
        )


@dataclass(slots=True)
class Seen:
    """What the site saw: answers by path, and of each host when requests came and answers left (monotonic seconds)."""

    answers: Counter[str] = field(default_factory=Counter)
    instants: dict[str, list[float]] = field(default_factory=dict)
    ended: dict[str, list[float]] = field(default_factory=dict)

    def pages(self) -> Counter[str]:
        """Answers by path, product pages only."""
        return Counter({path: count for path, count in self.answers.items() if path.startswith("/p/")})


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and pipelining, GET only: enough for a crawler, cheap enough for a benchmark."""

    def __init__(self, site: "Site") -> None:
        self.site = site
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  (asyncio's own promise for TCP servers)
        self.transport = transport
        self.host = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head, self.rest = self.rest[:end], self.rest[end + 4 :]
            path = head.split(b" ", 2)[1].decode("latin-1")
            answer = self.site.answer(self.host, path)
            if self.site.latency_s:
                asyncio.get_running_loop().call_later(self.site.latency_s, self._write, answer)
            else:
                self._write(answer)

    def _write(self, answer: bytes) -> None:
        self.site.seen.ended.setdefault(self.host, []).append(time.monotonic())
        if not self.transport.is_closing():
            self.transport.write(answer)


class Site:
    """Serves a catalogue on every one of its hosts. `async with Site(Catalogue(...)) as site:`."""

    def __init__(self, catalogue: Catalogue, *, latency_s: float = 0.0, robots: bytes = ROBOTS) -> None:
        self.catalogue = catalogue
        self.latency_s = latency_s
        self.robots = robots
        self.seen = Seen()
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for address in self.catalogue.addresses():
            server = await loop.create_server(lambda: _Connection(self), address, self.catalogue.port, backlog=4096)
            if self.catalogue.port == 0:
                port = server.sockets[0].getsockname()[1]
                self.catalogue = Catalogue(**{**_fields(self.catalogue), "port": port})
            self._servers.append(server)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    def answer(self, host: str, path: str) -> bytes:
        """The whole HTTP answer for a path, noted as seen."""
        self.seen.answers[path] += 1
        self.seen.instants.setdefault(host, []).append(time.monotonic())
        if path == "/robots.txt":
            return _response(b"200 OK", self.robots, b"text/plain")
        page = path.removeprefix("/p/").removesuffix(".html")
        if not page.isdigit() or int(page) >= self.catalogue.pages:
            return _response(b"404 Not Found", b"<!doctype html><title>Not here</title>", b"text/html")
        return _response(b"200 OK", self.catalogue.body(int(page)), b"text/html; charset=utf-8")


def _fields(catalogue: Catalogue) -> dict[str, int]:
    return {name: getattr(catalogue, name) for name in Catalogue.__slots__}


def _response(status: bytes, body: bytes, content_type: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        content_type,
        len(body),
        body,
    )


async def _serve(catalogue: Catalogue, latency_s: float) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Site(catalogue, latency_s=latency_s) as site:
        print(site.catalogue.url(0), flush=True)  # noqa: T201  (the address is this command's output)
        await stop.wait()


def main() -> None:
    """Serve a catalogue until SIGTERM or Ctrl-C; prints the address of page 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--port", type=int, default=8088)
    parser.add_argument("--latency-s", type=float, default=0.0)
    given = parser.parse_args()
    asyncio.run(_serve(Catalogue(pages=given.pages, hosts=given.hosts, port=given.port), given.latency_s))


if __name__ == "__main__":
    main()
