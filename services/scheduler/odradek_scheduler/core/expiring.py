"""Jobs end by the clock: the job's home partition tells every partition, as a fact (rules A, H).

The fact is sent again until the home has folded it, and once more after a take-over, since the former owner may have
reached itself and not the others. A partition that has heard it changes nothing when it hears it again.
"""

from collections.abc import Iterable
from typing import Final

from odradek.contracts import JobChanged
from odradek.urls import partition_of
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.keys import run_id
from odradek_scheduler.core.memory import Memory

AGAIN_MS: Final = 5_000
EXPIRED: Final = "expired"


class Expiries:
    """When each job that has its home here ends; in memory only, made from the tables at take-over."""

    def __init__(self, memory: Memory, partition: int, partitions: int) -> None:
        self._memory = memory
        self._partition, self._partitions = partition, partitions
        self._checks: dict[str, int] = {}

    def build(self) -> None:
        """Look at every job that expires; the specifications of the others, perhaps thousands, stay unread."""
        self.touch([job for job, record in self._memory.cache.jobs.items() if record.spec.get("expires") is not None])
        for job in self._memory.cache.jobs:
            if self._is_home(job) and self._ledger_closed_by(job) == EXPIRED:
                self._checks[job] = 0

    def touch(self, jobs: Iterable[str]) -> None:
        """These jobs have changed."""
        for job in jobs:
            if not self._is_home(job):
                continue
            expires_at_ms = self._memory.terms(job).expires_at_ms
            if expires_at_ms is None or self._ledger_closed_by(job) is not None:
                self._checks.pop(job, None)
            else:
                self._checks[job] = expires_at_ms

    def wake_at_ms(self) -> int | None:
        """When the next job ends."""
        return min(self._checks.values(), default=None)

    def talk(self, now_ms: int) -> list[ToPartition]:
        """What is to be said now."""
        said: list[ToPartition] = []
        for job, check_ms in list(self._checks.items()):
            if check_ms > now_ms:
                continue
            if self._ledger_closed_by(job) is None:
                self._checks[job] = now_ms + AGAIN_MS
            else:
                del self._checks[job]
            record = self._memory.cache.job(job)
            fact = JobChanged(
                job=job, version=record.version, epoch=record.epoch, wanted=EXPIRED, run=record.run, at_ms=now_ms
            )
            said.extend(ToPartition(partition, fact) for partition in range(self._partitions))
        return said

    def _is_home(self, job: str) -> bool:
        return partition_of(job, self._partitions) == self._partition

    def _ledger_closed_by(self, job: str) -> str | None:
        return self._memory.cache.ledger(run_id(job, self._memory.cache.job(job).run)).closed_by
