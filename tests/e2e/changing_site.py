"""A shop on loopback whose pages change when a test says so, and which notes what it was asked for and answered."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Self

from aiohttp import web

WORDS = "anvil birch cobalt drift ember fjord gable hazel iris juniper kelp loom mallow nettle onyx pewter".split()


class Shop:
    """Pages 0 to n-1 in a tree, one product with a name of its own each.

    Even ones have an ETag, odd ones only their content.
    """

    def __init__(self, pages: int, *, filler: int = 400, latency_s: float = 0.0) -> None:
        self.pages, self.filler, self.latency_s = pages, filler, latency_s
        self.versions = dict.fromkeys(range(pages), 1)
        self.changed_at: dict[int, datetime] = {}
        self.away: set[int] = set()
        self.mapped = False
        """True: robots.txt names a sitemap with the time of each page's last change."""
        self.heard: list[tuple[str, int]] = []
        """What a webhook was told: state, run."""
        self.asked: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.bytes = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/hook", self._hear)
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def url(self, page: int) -> str:
        return f"http://127.0.0.1:{self.port}/p/{page}.html"

    def change(self, *pages: int) -> None:
        """Other content from now on."""
        for page in pages:
            self.versions[page] += 1
            self.changed_at[page] = datetime.now(UTC)

    @property
    def whole(self) -> int:
        """Bytes of all pages that are there."""
        return sum(len(self._page(page).encode()) for page in self.versions if page not in self.away)

    def note(self) -> Counter[str]:
        """What was asked for since the last note, pages only; statuses and bytes begin anew with it."""
        asked, self.asked = self.asked, Counter()
        self.statuses, self.bytes = Counter(), 0
        return Counter({path: count for path, count in asked.items() if path.startswith("/p/")})

    async def _hear(self, request: web.Request) -> web.Response:
        data = (await request.json())["data"]
        self.heard.append((data["state"], data["run"]))
        return web.Response()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        answer = self._made(request)
        self.statuses[answer.status] += 1
        self.bytes += len(answer.body or b"")  # type: ignore[arg-type]  # ours are bytes
        return answer

    def _made(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            line = f"Sitemap: http://127.0.0.1:{self.port}/sitemap.xml\n" if self.mapped else ""
            return web.Response(text=f"User-agent: *\nDisallow:\n{line}")
        if request.path == "/sitemap.xml":
            return web.Response(text=self._sitemap(), content_type="application/xml")
        name = request.path.removeprefix("/p/").removesuffix(".html")
        page = int(name) if name.isdigit() else -1
        if page not in self.versions or page in self.away:
            return web.Response(status=404, text="not here")
        etag = f'"{page}-{self.versions[page]}"'
        if page % 2:
            return web.Response(text=self._page(page), content_type="text/html")
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(text=self._page(page), content_type="text/html", headers={"ETag": etag})

    def _page(self, page: int) -> str:
        links = "".join(f'<a href="/p/{child}.html">{child}</a>' for child in (2 * page + 1, 2 * page + 2)
                        if child < self.pages)  # fmt: skip
        name = " ".join(WORDS[page // 16**place % 16] for place in range(3))
        filler = " ".join(WORDS[(page + place) % len(WORDS)] for place in range(self.filler))
        return (
            f"<!doctype html><html><head><title>{name}</title></head><body>{links}"
            f'<article data-sku="{page}"><h3>{name}</h3><p class="price">{self.versions[page]}.00</p></article>'
            f"<p>{filler}</p></body></html>"
        )

    def _sitemap(self) -> str:
        rows = "".join(
            f"<url><loc>{self.url(page)}</loc><lastmod>{moment.isoformat()}</lastmod></url>"
            for page, moment in self.changed_at.items()
        )
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
