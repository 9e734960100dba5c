"""The sites of a drill: one that grows for as long as faults go on, pages that end a parser, and a hostile one."""

import time

from odradek.testing import hostile_cases  # noqa: F401  (fills the sheet)
from odradek.testing.hostile import SHEET
from odradek.testing.site import Catalogue, Site, _response

HOSTS = 20
OPEN_PAGES = 300
"""Pages that are linked and have not been asked for yet, while the site grows."""
NEAR = 6
"""Links of a page to some before it."""

QUIET = (
    "gzip", "x-gzip", "gzip-twice", "gzip-members", "deflate", "br", "zstd", "identity", "no-gzip-at-all",
    "unknown-coding", "bomb-gzip", "bomb-br", "bomb-zstd", "bomb-in-a-bomb", "no-length", "negative-length",
    "length-in-words", "two-lengths", "endless-digits", "empty", "chunked", "no-type", "no-type-binary", "odd-charset",
    "204", "206", "300", "404", "999", "challenge", "garbage", "http-1.0", "header-of-40-KiB", "zero-byte-in-header",
    "high-bytes-in-header", "status-in-words", "cookie-wall", "picture-without-end", "closes-kept-connection",
)  # fmt: skip
"""Cases of the hostile site that end the same way however slow the fetcher is, and that say nothing of their host."""
HOSTILE = {name: SHEET[name] for name in QUIET}


class GrowingSite(Site):
    """Gives each page new children when it is first asked for, always the same ones afterwards, until it is `closed`.

    What a page links to is fixed by its first answer, so every page that was ever linked is found by whoever follows
    all links, whatever is lost on the way: `linked` is the number of pages a whole crawl has.
    """

    def __init__(self, latency_s: float = 0.02) -> None:
        many = Catalogue(pages=10**9, hosts=HOSTS, port=0, cards=3, words_per_card=20, far_links=0, first_host=11)
        super().__init__(many, latency_s=latency_s)
        self.linked = 1
        self.closed = False
        self._children: dict[int, range] = {}

    def answer(self, host: str, path: str) -> bytes:
        """As a page's first answer has decided."""
        name = path.removeprefix("/p/").removesuffix(".html")
        if not path.startswith("/p/") or not name.isdigit():
            if path.startswith("/bad/"):
                self._note(host, path)
                return _response(b"200 OK", b"<!doctype html><title>Bad</title><p>Nothing to see.", b"text/html")
            return super().answer(host, path)
        self._note(host, path)
        page = int(name)
        children = self._children.get(page)
        if children is None:
            children = self._children[page] = self._born()
        return _response(b"200 OK", self._html(page, children), b"text/html; charset=utf-8")

    @property
    def served(self) -> int:
        """Different pages answered so far."""
        return len(self._children)

    def waiting(self) -> set[str]:
        """Hosts with a page that nobody has asked for yet."""
        open_pages = (page for page in range(max(0, self.linked - 5 * OPEN_PAGES), self.linked))
        first, hosts = self.catalogue.first_host, self.catalogue.hosts
        return {f"127.0.0.{first + page % hosts}" for page in open_pages if page not in self._children}

    def bad_url(self, name: str) -> str:
        """Address of a page that the plugin of a drill does not survive."""
        return self.catalogue.url(0).replace("/p/0.html", f"/bad/{name}")

    def _note(self, host: str, path: str) -> None:
        self.seen.answers[path] += 1
        self.seen.instants.setdefault(host, []).append(time.monotonic())

    def _born(self) -> range:
        wanted = 0 if self.closed else min(5, max(0, OPEN_PAGES - (self.linked - len(self._children))))
        first = self.linked
        self.linked += wanted
        return range(first, self.linked)

    def _html(self, page: int, children: range) -> bytes:
        near = [max(0, page - back) for back in range(1, NEAR + 1)]
        urls = [self.catalogue.url(each) for each in (*children, *near)]
        links = "".join(f'<li><a href="{url}">{place}</a></li>' for place, url in enumerate(urls))
        body = self.catalogue.body(page).decode()
        return body.replace(body[body.index("<ul>") : body.index("</ul>")], f"<ul>{links}", 1).encode()
