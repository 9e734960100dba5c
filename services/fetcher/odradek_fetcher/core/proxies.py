"""Which proxy an exchange goes through: in turn, and one that fails rests for a while."""

from collections.abc import Sequence
from dataclasses import dataclass

FAILURES_TO_REST = 3
"""In a row."""
FIRST_REST_S = 30.0
LONGEST_REST_S = 600.0


@dataclass(slots=True)
class _Health:
    streak: int = 0
    rests: int = 0
    resting_until_s: float = 0.0


class Proxies:
    """The health of all proxies this fetcher has used."""

    def __init__(self) -> None:
        self._health: dict[str, _Health] = {}

    def choose(self, proxies: Sequence[str], turn: int, now_s: float) -> str | None:
        """The next proxy in turn that is not resting; None when the job has none.

        When all are resting, the one whose rest ends first: a fleet of sick proxies is still what the job asked for.
        """
        if not proxies:
            return None
        rotated = [proxies[(turn + step) % len(proxies)] for step in range(len(proxies))]
        for proxy in rotated:
            health = self._health.get(proxy)
            if health is None or health.resting_until_s <= now_s:
                return proxy
        return min(rotated, key=lambda proxy: self._health[proxy].resting_until_s)

    def settle(self, proxy: str, *, failed: bool, now_s: float) -> None:
        """An exchange through this proxy ended; `failed` when it was the proxy's fault."""
        health = self._health.setdefault(proxy, _Health())
        if not failed:
            self._health.pop(proxy)
            return
        health.streak += 1
        if health.streak >= FAILURES_TO_REST:
            rest_s = min(FIRST_REST_S * 2**health.rests, LONGEST_REST_S)
            health.rests += 1
            health.streak = 0
            health.resting_until_s = now_s + rest_s

    def resting(self, now_s: float) -> int:
        """How many rest now."""
        return sum(health.resting_until_s > now_s for health in self._health.values())
