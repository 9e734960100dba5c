"""Host queues in memory: numbers of backlog pages, and the few pages and URLs that something is going on with."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import Enum
from heapq import heapify, heappop, heappush
from sys import intern
from typing import Final

from odradek_scheduler.core.politeness import Pace

_SHIFT: Final = 48
_MASK: Final = (1 << _SHIFT) - 1
"""Offsets fit into 48 bits: 281 million million batches."""


MERGE_AT: Final = 128
"""So many small pages of one queue are merged."""
SMALL_URLS: Final = 64
"""A page of fewer URLs is small: a crawled page finds one to three new ones of its host."""


_NONE: Final[AbstractSet[int]] = frozenset()
"""Most queues have none, and an empty set takes more room than all their pages."""


class Stage(Enum):
    """How far a URL with something going on has got."""

    PROPOSED = 1
    """A permit is asked for."""
    HELD = 2
    """It has a permit and waits to be sent."""
    SENT = 3
    """A request is out; the host is busy with it."""
    ANSWERED = 4
    """Fetched, and not yet parsed."""
    SKIPPING = 5
    """Its skip is on the way through the log."""


class OpenPage:
    """A backlog page that is being worked through."""

    __slots__ = ("code", "count", "cursor", "flights", "fps", "next_due_ms", "remaining", "resting")

    def __init__(self, code: int, fps: list[str]) -> None:
        self.code = code
        self.fps: list[str] | None = fps
        """None while others are worked through: to be read again."""
        self.count = len(fps)
        self.cursor = 0
        self.remaining = len(fps)
        """URLs not known to have ended."""
        self.flights = 0
        self.next_due_ms: int | None = None
        """When one of the URLs that were passed over may be due."""
        self.resting = False
        """All URLs were looked at; it waits for its flights."""

    def due_again(self, at_ms: int) -> None:
        """One of its URLs may be due then."""
        if self.next_due_ms is None or at_ms < self.next_due_ms:
            self.next_due_ms = at_ms


class Queue:
    """What one job and run has waiting for one host. A page's code orders it: priority first, then the strategy."""

    __slots__ = (
        "current", "dead", "depth_first", "full", "going", "gone", "host", "job", "listing_ms", "loaded", "merge_at",
        "permitted", "preparing", "proposed", "ready", "run", "small", "starved", "turn", "waiting",
    )  # fmt: skip

    def __init__(self, run: str, host: "HostQueue", *, depth_first: bool) -> None:
        self.run = intern(run)
        self.job = intern(run.rpartition("\0")[0])
        self.host = host
        self.depth_first = depth_first
        self.ready: list[int] = []
        """Heap of codes of pages to look at."""
        self.waiting: list[tuple[int, int]] = []
        """Heap of (due, code) of pages with nothing to send before."""
        self.current: OpenPage | None = None
        self.loaded: dict[int, OpenPage] = {}
        """Pages with a URL in flight, and the current one."""
        self.permitted: list[tuple[int, str]] = []
        """Heap of (due, fingerprint) of URLs that hold a permit and are not sent."""
        self.preparing = 0
        """URLs proposed or held."""
        self.proposed = 0
        """URLs that a permit is asked for."""
        self.going = 0
        """URLs with something going on."""
        self.starved = False
        """No permit is left to ask for."""
        self.full = False
        """As many URLs hold a share of the host as `max_pages_per_host` leaves."""
        self.listing_ms = 0
        """Sitemaps are being handed over; nothing is sent before they are, or before this instant."""
        self.turn = 0
        self.dead = False
        self.small: list[int] = []
        """Codes of pages that may be merged; some of them may have been worked through since."""
        self.merge_at = MERGE_AT
        self.gone: AbstractSet[int] = _NONE
        """Codes in `ready` whose pages were merged into another."""

    def code(self, priority: int, offset: int) -> int:
        """The order of a page as one number."""
        return ((100 - priority) << _SHIFT) | (_MASK - offset if self.depth_first else offset)

    def place(self, code: int) -> tuple[int, int]:
        """(priority, batch offset) of a code."""
        low = code & _MASK
        return 100 - (code >> _SHIFT), (_MASK - low if self.depth_first else low)

    def add(self, priority: int, offset: int, urls: int) -> bool:
        """A new page of so many URLs; True: there are many small ones now.

        Depth first, pages are not merged: a merged page counts as new, so old URLs would overtake newer ones.
        """
        code = self.code(priority, offset)
        heappush(self.ready, code)
        if urls >= SMALL_URLS or self.depth_first:
            return False
        self.small.append(code)
        return len(self.small) >= self.merge_at

    def next_code(self) -> int | None:
        """The page that comes first, taken out; None: only merged ones were left."""
        ready = self.ready
        while ready:
            code = heappop(ready)
            while ready and ready[0] == code:
                heappop(ready)
            if code not in self.gone:
                return code
        self.gone = _NONE
        return None

    def mergeable(self, most: int) -> list[int]:
        """Up to so many codes of small pages that nothing is going on with, oldest first, taken out of `small`.

        None while they are few. Pages come in the order of their codes, so what is below the next one is done with.
        """
        least = self.ready[0] if self.ready else None
        small = [code for code in self.small if least is not None and code >= least and code not in self.loaded]
        few = len(small) < MERGE_AT
        self.small = small if few else small[most:]
        self.merge_at = max(len(self.small) + MERGE_AT // 2, MERGE_AT) if few else MERGE_AT
        return [] if few else small[:most]

    def merged(self, priority: int, offsets: Iterable[int]) -> None:
        """These pages have ended, another holds their URLs."""
        gone = {code for offset in offsets if (code := self.code(priority, offset)) not in self.loaded}
        self.gone = self.gone | gone
        if len(self.gone) > len(self.ready) // 4:
            self.ready = [code for code in self.ready if code not in self.gone]
            heapify(self.ready)
            self.gone = _NONE

    def take_codes(self, most: int) -> list[int]:
        """Up to so many codes of pages, taken out: nothing of a dead queue is sent any more."""
        if self.loaded or self.waiting:
            self.ready += [*self.loaded, *(code for _, code in self.waiting)]
            self.loaded.clear()
            self.waiting.clear()
        taken = self.ready[-most:]
        del self.ready[-most:]
        return taken

    def wake(self, now_ms: int) -> None:
        """Pages that are due now are ready."""
        while self.waiting and self.waiting[0][0] <= now_ms:
            heappush(self.ready, heappop(self.waiting)[1])

    def pages_due_ms(self) -> int | None:
        """When a page has to be looked at; 0: now; None: no page waits."""
        if self.current is not None or self.ready:
            return 0
        return self.waiting[0][0] if self.waiting else None

    def rest(self, page: OpenPage) -> None:
        """A page that was looked through: back when something in it may be due; with flights, when they have landed."""
        page.resting = True
        if self.current is page:
            self.current = None
        if page.flights:
            return
        self.loaded.pop(page.code, None)
        if not page.remaining:
            return
        if page.next_due_ms is None:
            heappush(self.ready, page.code)
        else:
            heappush(self.waiting, (page.next_due_ms, page.code))

    def suspend(self) -> None:
        """A page of higher rank has come: the current one goes back."""
        page, self.current = self.current, None
        if page is not None:
            heappush(self.ready, page.code)
            if not page.flights:
                self.loaded.pop(page.code, None)

    def reorder(self, *, depth_first: bool) -> None:
        """The job's strategy has changed."""
        if depth_first == self.depth_first:
            return
        self.suspend()
        old = self.place
        ready = [old(code) for code in self.ready if code not in self.gone]
        waiting = [(due, old(code)) for due, code in self.waiting]
        loaded = [(old(code), page) for code, page in self.loaded.items()]
        self.depth_first = depth_first
        self.small, self.gone = [], _NONE
        self.ready = [self.code(*place) for place in ready]
        self.waiting = [(due, self.code(*place)) for due, place in waiting]
        self.loaded = {}
        for place, page in loaded:
            page.code = self.code(*place)
            self.loaded[page.code] = page
        heapify(self.ready)
        heapify(self.waiting)

    @property
    def idle(self) -> bool:
        """True when nothing of it is left in memory."""
        return not (self.ready or self.waiting or self.loaded or self.going)


class Flight:
    """A URL with something going on."""

    __slots__ = (
        "attempt", "due_ms", "fp", "lease_ms", "page", "prepares", "queue", "sent_at_ms", "settled", "stage",
    )  # fmt: skip

    def __init__(self, queue: Queue, fp: str, stage: Stage, page: OpenPage | None) -> None:
        self.queue = queue
        self.fp = fp
        self.stage = stage
        self.page = page
        self.attempt = 0
        self.sent_at_ms = 0
        self.lease_ms = 0
        self.prepares = False
        """It is one of the few that are made ready ahead of their turn; not while it waits for its next try."""
        self.settled = False
        """Its outcome is known while the request is out: only the host waits for the answer."""
        self.due_ms: int | None = None
        """When the URL is due again, once settled; None: it has ended."""

    def make_ready(self) -> None:
        """It counts among those that its queue makes ready from now on."""
        if not self.prepares:
            self.prepares = True
            self.queue.preparing += 1

    def end_readying(self) -> None:
        """It does so no more."""
        if self.prepares:
            self.prepares = False
            self.queue.preparing -= 1


class HostQueue:
    """All that waits for one host, and its pace."""

    __slots__ = (
        "answers", "asked", "crawl_delays_ms", "delay_ms", "due_ms", "key", "lines", "listed_ms", "pace", "queues",
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        self.key = key
        self.pace = Pace()
        self.queues: dict[str, Queue] = {}
        self.answers = 0
        """Answers since the last dispatch; their rest begins with it."""
        self.asked: dict[str, int] = {}
        """Origins whose robots.txt is on its way, with the lease."""
        self.crawl_delays_ms: dict[str, int] = {}
        """What robots.txt asks for, by origin; only where it asks."""
        self.delay_ms = 0
        """Between an answer and the next request, as last computed."""
        self.due_ms: int | None = None
        """When it has to be looked at; None: not before something happens."""
        self.lines: tuple[str, ...] | set[str] = ()
        """Jobs in whose lines it stands."""
        self.listed_ms: int | None = None
        """The time for which it stands in the agenda, unless it was moved since."""

    @property
    def crawl_delay_ms(self) -> int:
        """The longest that robots.txt asks for on any of its origins; 0: nothing."""
        return max(self.crawl_delays_ms.values()) if self.crawl_delays_ms else 0
