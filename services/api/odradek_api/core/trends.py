"""How a job went so far, in few points: whenever there are too many, every second one goes and the spacing doubles."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from odradek.contracts import OUTCOME_FIELDS, Counters

MOST_POINTS: Final = 240
TOTALS: Final = ("kept", *OUTCOME_FIELDS)
"""Running totals of a point, after its time."""

Point = tuple[int, ...]


@dataclass(slots=True)
class Trend:
    """Running totals of one job over its whole life, for charts; time comes in."""

    every_ms: int = 1000
    points: list[Point] = field(default_factory=list)
    newest: Point | None = None

    def note(self, at_ms: int, ledger: Counters) -> None:
        """Another reading."""
        self.newest = (at_ms, *(getattr(ledger, name) for name in TOTALS))
        if self.points and at_ms - self.points[-1][0] < self.every_ms:
            return
        self.points.append(self.newest)
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
            self.every_ms *= 2

    def told(self) -> list[Point]:
        """All points, the newest reading last."""
        if self.newest is None or self.points[-1] == self.newest:
            return list(self.points)
        return [*self.points, self.newest]

    def rates(self, most: int) -> list[float]:
        """Pages kept a second between the newest `most` + 1 points, oldest first."""
        told = self.told()[-most - 1 :]
        return [
            round(max(0.0, (after[1] - before[1]) * 1000 / max(1, after[0] - before[0])), 1)
            for before, after in pairwise(told)
        ]


def from_histogram(buckets: list[dict[str, Any]], interval_ms: int) -> list[Point]:
    """The same points from a histogram of crawl events, oldest first, for a job that nobody watched."""
    totals = dict.fromkeys(TOTALS, 0)
    points: list[Point] = []
    for bucket in buckets:
        if not points:
            points.append((bucket["at_ms"], *totals.values()))
        for name, count in bucket["outcomes"].items():
            if name in totals:
                totals[name] += count
        totals["kept"] = totals["fetched"]
        at_ms = bucket["at_ms"]
        if at_ms > points[-1][0]:
            points.append((at_ms, *points[-1][1:]))
        points.append((at_ms + interval_ms, *totals.values()))
    return points
