"""Going through backlog pages: the next URL of a host queue that is open, due, and has nothing going on."""

from collections import OrderedDict
from typing import Final, NamedTuple

from odradek_scheduler.core.keys import page_key, seen_key
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import OpenPage, Queue
from odradek_scheduler.core.state import PENDING, Page, Seen, Standing, standing, unpack
from odradek_scheduler.core.tables import Tables

HELD_MS = 60_000
"""A URL that another page has going on, without a lease, is looked at again after this."""
_PAGE_URLS: Final = 4
"""A page takes as much room beside them as so many fingerprints."""


class Drawn(NamedTuple):
    """A URL that could be sent."""

    fp: str
    seen: Seen
    now: Standing
    page: OpenPage | None


class Visits:
    """Looks at URLs; `left` bounds how many in one call of dispatch.

    `urls_kept`: how many fingerprints stay of pages that are worked through, of those last used.
    """

    def __init__(self, memory: Memory, tables: Tables, urls_kept: int) -> None:
        self._memory = memory
        self._tables = tables
        self._kept: OrderedDict[OpenPage, None] = OrderedDict()
        self._urls, self._urls_kept = 0, urls_kept
        self.left = 0

    def draw(self, queue: Queue, now_ms: int) -> Drawn | None:
        """The next URL of the queue; its page has moved on behind it (`put_back` undoes that)."""
        while self.left > 0:
            queue.wake(now_ms)
            page = self._page(queue)
            if page is None:
                return None
            if page.cursor >= page.count:
                self._finish(queue, page)
                continue
            fps = self._fps(queue, page)
            if fps is None:  # merged into another meanwhile, where its URLs are found again
                page.cursor, page.remaining = page.count, page.flights
                continue
            fp = fps[page.cursor]
            page.cursor += 1
            self.left -= 1
            drawn = self._look(queue, page, fp, now_ms)
            if drawn is not None:
                return drawn
        return None

    def put_back(self, drawn: Drawn) -> None:
        """It cannot be sent yet: the next `draw` gives it again."""
        if drawn.page is not None:
            drawn.page.cursor -= 1

    def open_url(self, run: str, fp: str) -> tuple[Seen, Standing] | None:
        """A URL's record and where it stands, if it is open."""
        value = self._tables.get("seen", seen_key(run, fp))
        if value is None:
            return None
        seen = unpack(Seen, value)
        now = standing(seen.steps)
        return (seen, now) if now.state == PENDING else None

    def _look(self, queue: Queue, page: OpenPage, fp: str, now_ms: int) -> Drawn | None:
        flight = self._memory.flights.get((queue.run, fp))
        if flight is not None and flight.page is not page:
            page.due_again(flight.lease_ms or now_ms + HELD_MS)
        if flight is not None:
            return None
        found = self.open_url(queue.run, fp)
        if found is None:
            page.remaining -= 1
            return None
        if found[1].due_ms > now_ms:
            page.due_again(found[1].due_ms)
            return None
        return Drawn(fp, *found, page)

    def _page(self, queue: Queue) -> OpenPage | None:
        page = queue.current
        if page is not None and not (queue.ready and queue.ready[0] < page.code):
            return page
        queue.suspend()
        while (code := queue.next_code()) is not None:
            loaded = queue.loaded.get(code)
            if loaded is None:
                loaded = self._load(queue, code)
            if loaded is not None and not loaded.resting:
                queue.current = queue.loaded[code] = loaded
                return loaded
        return None

    def _load(self, queue: Queue, code: int) -> OpenPage | None:
        fps = self._read(queue, code)
        if fps is None:
            return None
        page = OpenPage(code, fps)
        self._keep(page)
        return page

    def _read(self, queue: Queue, code: int) -> list[str] | None:
        value = self._tables.get("backlog", page_key(queue.run, queue.host.key, *queue.place(code)))
        return None if value is None else unpack(Page, value).fps

    def _fps(self, queue: Queue, page: OpenPage) -> list[str] | None:
        """What a page holds, read again if others were worked through since; its value does not change."""
        if page.fps is not None:
            self._kept.move_to_end(page)
        elif (fps := self._read(queue, page.code)) is not None:
            page.fps = fps
            self._keep(page)
        return page.fps

    def _keep(self, page: OpenPage) -> None:
        self._kept[page] = None
        self._urls += page.count + _PAGE_URLS
        while self._urls > self._urls_kept and len(self._kept) > 1:
            old, _ = self._kept.popitem(last=False)
            old.fps = None
            self._urls -= old.count + _PAGE_URLS

    def _finish(self, queue: Queue, page: OpenPage) -> None:
        if page.remaining:
            queue.rest(page)
        else:
            self._memory.empty(queue, page)
