"""Which links were already forwarded for a job and run: a bounded memory, wrong only by forgetting (rule L)."""

from collections.abc import Iterable

LIMIT = 400_000
"""Fingerprints remembered in all; about 120 bytes each."""


class Forwarded:
    """Fingerprints in two generations: when the young one is full, the old one is forgotten.

    Filled only with what Kafka has acknowledged, so a link is never dropped because of one that was lost.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._half = max(1, limit // 2)
        self._young: dict[tuple[str, int], set[str]] = {}
        self._old: dict[tuple[str, int], set[str]] = {}
        self._size = 0

    def of(self, job: str, run: int) -> "Known":
        """What is known of one job and run."""
        return Known(self, (job, run))

    def young(self, crawl: tuple[str, int]) -> set[str]:
        """The young generation as it is now."""
        return self._young.setdefault(crawl, set())

    def holds(self, crawl: tuple[str, int], fp: str) -> bool:
        """True if it was forwarded and is remembered; what is asked for stays."""
        young = self._young.get(crawl)
        if young is not None and fp in young:
            return True
        old = self._old.get(crawl)
        if old is None or fp not in old:
            return False
        self.add(crawl, (fp,))
        return True

    def add(self, crawl: tuple[str, int], fps: Iterable[str]) -> None:
        """Remember fingerprints."""
        young = self._young.setdefault(crawl, set())
        before = len(young)
        young.update(fps)
        self._size += len(young) - before
        if self._size >= self._half:
            self._old, self._young, self._size = self._young, {}, 0

    def __len__(self) -> int:
        return self._size + sum(map(len, self._old.values()))


class Known:
    """The fingerprints of one crawl, with those that are on their way in the same batch."""

    def __init__(self, forwarded: Forwarded, crawl: tuple[str, int]) -> None:
        self._forwarded = forwarded
        self._crawl = crawl
        self._young = forwarded.young(crawl)
        self.on_their_way: set[str] = set()

    def __contains__(self, fp: object) -> bool:
        return fp in self._young or fp in self.on_their_way or self._forwarded.holds(self._crawl, str(fp))

    def acknowledged(self, fps: Iterable[str]) -> None:
        """Kafka has them."""
        self._forwarded.add(self._crawl, fps)
        self._young = self._forwarded.young(self._crawl)
