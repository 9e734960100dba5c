"""A partition's own part in a new run: it tells itself, step by step, to take over what the run before knew.

A step is told when the one before has been folded, so that other facts come in between; and again when it has not come
back in time, since a take-over may have cut it off.
"""

from collections.abc import Iterable
from typing import Final

from odradek.contracts import Renewed
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.keys import run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.running import Renewal, renewal_key

AGAIN_MS: Final = 5_000


def renewing(cache: Cache, job: str, run: int) -> bool:
    """True while known URLs of the run before are to be taken over here."""
    return run > 1 and not cache.value(Renewal, renewal_key(run_id(job, run))).over


class Renewals:
    """What was told already, in memory only: after a take-over the step that is due is told again."""

    def __init__(self, memory: Memory, partition: int) -> None:
        self._memory, self._partition = memory, partition
        self._checks: dict[str, int] = {}
        """When to tell the next step of a job."""
        self._told: dict[str, tuple[int, int]] = {}
        """Run and step told last."""

    def build(self) -> None:
        """Look at every job that has more than one run."""
        self.touch(job for job, record in self._memory.cache.jobs.items() if record.run > 1)

    def touch(self, jobs: Iterable[str]) -> None:
        """A run of these jobs may have begun, or a step may have been folded."""
        cache = self._memory.cache
        for job in jobs:
            run = cache.job(job).run
            if not renewing(cache, job, run):
                self._checks.pop(job, None)
                self._told.pop(job, None)
            elif self._told.get(job) != (run, self._step(job, run)):
                self._checks[job] = 0

    def wake_at_ms(self) -> int | None:
        """When there is a step to tell."""
        return min(self._checks.values(), default=None)

    def talk(self, now_ms: int) -> list[ToPartition]:
        """The steps to be told now."""
        said: list[ToPartition] = []
        for job, check_ms in self._checks.items():
            if check_ms > now_ms:
                continue
            run, longest_ms = self._memory.cache.job(job).run, self._memory.terms(job).longest_rest_ms
            step = self._step(job, run)
            self._checks[job], self._told[job] = now_ms + AGAIN_MS, (run, step)
            fact = Renewed(job=job, run=run, step=step, longest_ms=longest_ms, at_ms=now_ms)
            said.append(ToPartition(self._partition, fact))
        return said

    def _step(self, job: str, run: int) -> int:
        return self._memory.cache.value(Renewal, renewal_key(run_id(job, run))).done
