"""How often one key may ask: a bucket of requests that fills as time goes by."""

from dataclasses import dataclass, field

BURST = 2.0
"""So many seconds' worth may come at once."""


@dataclass(slots=True)
class Rates:
    """A bucket for each name; time comes in, in seconds of any clock that only goes forward."""

    per_s: float
    """Requests a second; 0: no limit."""
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What was left, and when."""

    def wait_s(self, name: str, now_s: float) -> float:
        """Take one request out of the bucket: 0, or the seconds until there is one again and nothing was taken."""
        if self.per_s <= 0:
            return 0.0
        size = max(1.0, self.per_s * BURST)
        left, then_s = self._buckets.get(name, (size, now_s))
        left = min(size, left + (now_s - then_s) * self.per_s)
        if left < 1.0:
            return (1.0 - left) / self.per_s
        self._buckets[name] = (left - 1.0, now_s)
        return 0.0
