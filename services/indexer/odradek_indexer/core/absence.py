"""When an item is gone: its page was missing in two runs, and for as long as the job wants.

A page that answers 404 once may come back: sites are repaired, moved, misconfigured. What is decided follows from what
is stored and from the sighting alone, so a sighting told twice decides the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TIMES: Final = 2
"""Runs in which a page must be missing."""


@dataclass(frozen=True, slots=True)
class Absence:
    """What is noted of an item whose page is not there."""

    run: int
    """In which it was missing last."""
    since_ms: int
    """When it was missing first."""
    times: int
    """Runs in a row."""

    def gone(self, at_ms: int, grace_ms: int) -> bool:
        """True when it has been missing often and long enough."""
        return self.times >= TIMES and at_ms - self.since_ms >= grace_ms


def absent(stored: Mapping[str, Any] | None, run: int, at_ms: int) -> Absence | None:
    """The absence after one more run without the page; None when this run was counted before."""
    if stored is None:
        return Absence(run, at_ms, 1)
    if run <= stored["run"]:
        return None
    return Absence(run, int(stored["since"]), stored["times"] + 1)
