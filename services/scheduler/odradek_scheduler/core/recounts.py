"""The second, independent count of a job's URLs: by going through `seen` (rule C)."""

from collections.abc import Iterator
from typing import Final

import msgspec

from odradek.contracts import Recount
from odradek_scheduler.core.keys import seen_key
from odradek_scheduler.core.state import PENDING, Ledger, Step, standing
from odradek_scheduler.core.tables import Tables


class _Steps(msgspec.Struct, array_like=True):
    """`Seen`, as far as it is counted: the rest is not decoded."""

    offset: int
    url: msgspec.Raw
    key: msgspec.Raw
    depth: msgspec.Raw
    priority: msgspec.Raw
    seed: msgspec.Raw
    steps: list[Step]


_steps: Final = msgspec.json.Decoder(_Steps).decode


class Recounting:
    """A count of what `seen` holds at one offset, however long the counting takes and whatever is folded meanwhile.

    Make it between two batches; `run` may then go on in another thread.
    """

    def __init__(self, tables: Tables, ledger: Ledger, run: str, offset: int) -> None:
        self._rows: Iterator[tuple[bytes, bytes]] = tables.scan("seen", seen_key(run, ""))
        self._closed = ledger.closed_at is not None
        self._offset = offset

    def run(self, now_ms: int) -> Recount:
        """Every URL by where it stands; what a closed job had open is skipped."""
        found: dict[str, int] = {}
        for _, value in self._rows:
            state = standing(_steps(value).steps).state or PENDING
            found[state] = found.get(state, 0) + 1
        if self._closed and PENDING in found:
            found["skipped"] = found.get("skipped", 0) + found.pop(PENDING)
        return Recount(offset=self._offset, accepted=sum(found.values()), at_ms=now_ms, **found)
