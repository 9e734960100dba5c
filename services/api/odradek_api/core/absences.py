"""Which gateways are gone for good: what they left half-done is finished by another one."""

from collections.abc import Collection

ABSENT_S = 10.0
"""One that has just begun is not yet known to Kafka; one that is gone was silent for its session's timeout before."""


class Absences:
    """Looks at who is there; time comes in, in seconds of any clock that only goes forward."""

    def __init__(self, for_s: float = ABSENT_S) -> None:
        self._for_s = for_s
        self._since: dict[str, float] = {}
        self._present: frozenset[str] = frozenset()

    def look(self, wanted: Collection[str], present: frozenset[str], now_s: float) -> tuple[frozenset[str], bool]:
        """Those wanted that were absent at every look for long enough, and whether somebody has left since the last."""
        has_left = bool(self._present - present)
        self._present = present
        self._since = {name: self._since.get(name, now_s) for name in wanted if name not in present}
        return frozenset(name for name, since in self._since.items() if now_s - since >= self._for_s), has_left
