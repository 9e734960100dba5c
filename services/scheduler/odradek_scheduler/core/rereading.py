"""Backlog pages of runs that a higher limit has opened again: they have stayed in the table, perhaps a million."""

from collections.abc import Callable
from typing import Final

from odradek_scheduler.core.keys import split_page_key
from odradek_scheduler.core.tables import Tables, rows_from

AT_ONCE: Final = 2_000
"""Pages read in one step, so that other jobs are served beside it."""
_BYTES_A_URL: Final = 35
"""A fingerprint in a page, with quotes and comma."""


class Rereading:
    """Reads on from step to step; `add(run, host, (priority, batch offset), URLs)` takes a page."""

    def __init__(self, tables: Tables, add: Callable[[str, str, tuple[int, int], int], None]) -> None:
        self._tables = tables
        self._add = add
        self._runs: dict[str, tuple[int, bytes]] = {}
        """The offset at which each was opened again, and where to read on."""

    def __bool__(self) -> bool:
        """True while there is something to read."""
        return bool(self._runs)

    def begin(self, run: str, offset: int) -> None:
        """Pages of later batches come by themselves, as those of every open run."""
        self._runs[run] = (offset, b"")

    def forget(self, run: str) -> None:
        """The run is closed."""
        self._runs.pop(run, None)

    def step(self) -> None:
        """The next pages of one run."""
        if not self._runs:
            return
        run, (opened_at, first) = next(iter(self._runs.items()))
        pages, go_on = rows_from(self._tables, "backlog", f"{run}\0".encode(), first, AT_ONCE)
        for key, value in pages:
            _, host, priority, offset = split_page_key(key)
            if offset < opened_at:
                self._add(run, host, (priority, offset), len(value) // _BYTES_A_URL)
        if go_on is None:
            del self._runs[run]
        else:
            self._runs[run] = (opened_at, go_on)
