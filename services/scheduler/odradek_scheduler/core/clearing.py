"""Backlog pages that have ended, until they get their tombstones: a bounded number with each batch."""

from itertools import islice
from typing import Final

from odradek_scheduler.core.keys import page_key
from odradek_scheduler.core.queues import Queue
from odradek_scheduler.core.tables import Tables, rows_from

TICK_MS: Final = 5_000
"""Tombstones that no batch has taken along by then get a batch of their own."""
FAST_TICK_MS: Final = 250
"""The same when there are many of them: some 2,000 a second, few enough to crawl on beside it."""
AT_ONCE: Final = 500
"""With one batch."""


class Clearing:
    """Pages found with no open URL, and whole queues of closed runs: of these no key is made before its turn."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._runs: dict[str, bytes] = {}
        """Runs none of whose pages is in memory, and the key to go on from."""
        self._pages: dict[bytes, None] = {}
        self._queues: list[Queue] = []
        self._told_ms = 0

    def add(self, queue: Queue, code: int) -> None:
        """A page has no open URL left."""
        self._pages[page_key(queue.run, queue.host.key, *queue.place(code))] = None

    def end(self, queue: Queue) -> None:
        """All pages of a queue have ended."""
        self._queues.append(queue)

    def sweep(self, run: str) -> None:
        """All pages of a run have ended, and are to be looked for in the table."""
        self._runs[run] = b""

    def take(self) -> list[bytes]:
        """Keys for the tombstones of the next batch, taken out."""
        keys = list(islice(self._pages, AT_ONCE))
        for key in keys:
            del self._pages[key]
        while self._queues and len(keys) < AT_ONCE:
            queue = self._queues[-1]
            codes = queue.take_codes(AT_ONCE - len(keys))
            keys += [page_key(queue.run, queue.host.key, *queue.place(code)) for code in codes]
            if not queue.ready:
                self._queues.pop()
        while self._runs and len(keys) < AT_ONCE:
            keys += self._swept(next(iter(self._runs)), AT_ONCE - len(keys))
        return keys

    def _swept(self, run: str, most: int) -> list[bytes]:
        rows, go_on = rows_from(self._tables, "backlog", f"{run}\0".encode(), self._runs[run], most)
        if go_on is None:
            del self._runs[run]
        else:
            self._runs[run] = go_on
        return [key for key, _ in rows]

    def tick(self, now_ms: int) -> bool:
        """True when a batch is to be made for them."""
        due_ms = self.wake_at_ms()
        if due_ms is None or now_ms < due_ms:
            return False
        self._told_ms = now_ms
        return True

    def rest(self, now_ms: int) -> None:
        """No batch before its time from now."""
        self._told_ms = now_ms

    def wake_at_ms(self) -> int | None:
        """When a batch is to be made for them; None: nothing has ended."""
        if self._queues or self._runs or len(self._pages) > AT_ONCE:
            return self._told_ms + FAST_TICK_MS
        return self._told_ms + TICK_MS if self._pages else None
