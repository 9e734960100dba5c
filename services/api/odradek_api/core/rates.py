"""How fast a job moves, judged from its last reports."""

from collections import deque
from dataclasses import dataclass, field

WINDOW_S = 10.0


@dataclass(slots=True)
class Pace:
    """Pages and finished URLs of one job over the last `WINDOW_S` seconds; time comes in."""

    points: deque[tuple[float, int, int]] = field(default_factory=deque)
    moved_at_s: float = 0.0
    """When one of the totals was last another than before, or the first reading."""

    def note(self, now_s: float, pages: int, finished: int) -> None:
        """Another reading of the two running totals."""
        if not self.points or self.points[-1][1:] != (pages, finished):
            self.moved_at_s = now_s
        self.points.append((now_s, pages, finished))
        while len(self.points) > 2 and now_s - self.points[0][0] > WINDOW_S:  # noqa: PLR2004  (a rate needs two)
            self.points.popleft()

    def pages_per_s(self) -> float:
        """Pages kept a second; 0 with fewer than two readings."""
        return self._per_s(1)

    def urls_per_s(self) -> float:
        """URLs finished a second, whatever their outcome."""
        return self._per_s(2)

    def eta_s(self, pending: int) -> float | None:
        """Seconds until what is known now is finished at this pace; None when it does not move."""
        rate = self.urls_per_s()
        return round(pending / rate, 1) if rate > 0 else None

    def _per_s(self, place: int) -> float:
        if len(self.points) < 2:  # noqa: PLR2004  (a rate needs two)
            return 0.0
        first, last = self.points[0], self.points[-1]
        span_s = last[0] - first[0]
        return max(0.0, (last[place] - first[place]) / span_s) if span_s > 0 else 0.0
