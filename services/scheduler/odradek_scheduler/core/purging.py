"""What a purged job leaves in the tables goes bit by bit: a bounded number of rows with each batch.

The fold knows of a purged job that it is purged, and takes no notice of its facts any more, however old they are; so
nothing that it decides depends on which of its rows are still there. What stays is that one value of the job.
"""

from collections import deque
from typing import Final

from odradek_scheduler.core.tables import TableName, Tables, rows_from

Row = tuple[TableName, bytes]
"""Table and key."""

AT_ONCE: Final = 500
"""Rows that end with one batch."""
TICK_MS: Final = 250
"""When no batch comes, one is made for them: some 2,000 rows a second, few enough to crawl on beside it."""
_LOOKS: Final = 20
"""Jobs looked at for one batch; at a take-over all that were ever purged are looked at again."""


class Purging:
    """The rows of purged jobs, until they get their tombstones."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._jobs: deque[tuple[str, deque[Row]]] = deque()
        """With each job, the prefixes of its keys that are not done."""
        self._first = b""
        """The key to go on from."""
        self._told_ms = 0

    def begin(self, job: str) -> None:
        """All rows of this job end."""
        self._jobs.append((job, deque(prefixes(job))))

    def take(self) -> list[Row]:
        """Rows for the tombstones of the next batch, taken out."""
        rows: list[Row] = []
        for _ in range(_LOOKS):
            if not self._jobs or len(rows) == AT_ONCE:
                break
            _, left = self._jobs[0]
            while left and len(rows) < AT_ONCE:
                rows += self._some(left, AT_ONCE - len(rows))
            if not left:
                self._jobs.popleft()
        return rows

    def _some(self, left: deque[Row], most: int) -> list[Row]:
        """At most so many rows of the first prefix; it goes when it is done."""
        table, prefix = left[0]
        rows, go_on = rows_from(self._tables, table, prefix, self._first, most)
        self._first = go_on or b""
        if go_on is None:
            left.popleft()
        return [(table, key) for key, _ in rows if prefix.endswith(b"\0") or key == prefix]

    def tick(self, now_ms: int) -> bool:
        """True when a batch is to be made for them."""
        due_ms = self.wake_at_ms()
        if due_ms is None or now_ms < due_ms:
            return False
        self._told_ms = now_ms
        return True

    def wake_at_ms(self) -> int | None:
        """When a batch is to be made for them; None: there are none."""
        return self._told_ms + TICK_MS if self._jobs else None


def prefixes(job: str) -> list[Row]:
    """What all keys of a job begin with, or are; but for the one that says what the job is.

    Its ledgers go last: they say that its backlog is closed.
    """
    own = f"{job}\0"
    return [
        ("backlog", own.encode()),
        ("seen", own.encode()),
        ("ledger", f"R\0{job}".encode()),
        *(("ledger", f"{kind}\0{own}".encode()) for kind in ("K", "Q", "T", "N", "W", "H", "L")),
    ]
