"""The talk about permits: what a partition reports to the job's home, what the home grants, when the rest is skipped.

Every message is absolute and sent again by timer, so that none of them has to arrive (rule F).
"""

from collections.abc import Iterable
from typing import Final

from odradek.contracts import Grant, PermitsReported, Reserve, SkipRest
from odradek.urls import partition_of
from odradek_scheduler.core import budget
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.keys import run_id, split_run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.sitemaps import is_sitemap_run
from odradek_scheduler.core.state import Home, Ledger

URGENT_MS: Final = 50
"""Between two reports of a partition that has run out of permits."""
PATIENT_MS: Final = 500
AGAIN_MS: Final = 5_000
"""Until an unanswered message is sent again."""
_NEVER: Final = 1 << 62


class PermitDesk:
    """What was said already, in memory only: after a take-over everything is said again."""

    def __init__(self, memory: Memory, partition: int, partitions: int) -> None:
        self._memory = memory
        self._partition, self._partitions = partition, partitions
        self._checks: dict[str, int] = {}
        """When to look at a run again."""
        self._reported: dict[str, tuple[tuple[int, ...], int]] = {}
        self._armed: dict[str, int] = {}
        """When permits for what is under way were asked for."""
        self._granted: dict[tuple[str, int], tuple[int, int]] = {}
        self._skipped: dict[str, int] = {}

    def build(self) -> None:
        """Look at every job with a budget; the specifications of the others, perhaps thousands, stay unread."""
        for job, record in self._memory.cache.jobs.items():
            if (record.spec.get("scope") or {}).get("max_pages") is not None:
                self.touch((run_id(job, record.run),))

    def touch(self, runs: Iterable[str]) -> None:
        """These ledgers or budgets have changed."""
        for run in runs:
            if not is_sitemap_run(run) and self._memory.terms(split_run_id(run)[0]).max_pages is not None:
                self._checks[run] = 0

    def wake_at_ms(self) -> int | None:
        """When there is something to say."""
        return min(self._checks.values(), default=None)

    def talk(self, now_ms: int) -> list[ToPartition]:
        """What is to be said now."""
        said: list[ToPartition] = []
        for run, check_ms in list(self._checks.items()):
            if check_ms > now_ms:
                continue
            if self._memory.terms(split_run_id(run)[0]).max_pages is None:
                del self._checks[run]
                continue
            again_ms = min(each(run, now_ms, said) for each in (self._arm, self._report, self._grant))
            if again_ms == _NEVER:
                del self._checks[run]
            else:
                self._checks[run] = again_ms
        return said

    def _arm(self, run: str, now_ms: int, said: list[ToPartition]) -> int:
        """A limit came where there was none: what is under way holds permits before any other URL does."""
        version = self._memory.cache.ledger(run).unarmed
        if not version:
            self._armed.pop(run, None)
            return _NEVER
        if self._armed.get(run, -_NEVER) + AGAIN_MS <= now_ms:
            self._armed[run] = now_ms
            job, number = split_run_id(run)
            fps = tuple(self._memory.under_way(run))
            said.append(ToPartition(self._partition, Reserve(job=job, run=number, fps=fps, version=version)))
        return self._armed[run] + AGAIN_MS

    def _report(self, run: str, now_ms: int, said: list[ToPartition]) -> int:
        """Report when something has changed, at once when permits run out; again while hungry."""
        ledger = self._memory.cache.ledger(run)
        wanted, held = budget.wanted(ledger), len(ledger.holders)
        version = 0 if ledger.unarmed else ledger.limit_version
        state = (ledger.kept, ledger.returned, wanted, max(0, -ledger.free_permits), _told_late(version))
        last, last_ms = self._reported.get(run, ((0, 0, 0, 0, 0), -_NEVER))
        hungry = wanted > max(ledger.granted - ledger.returned, ledger.kept + held)
        if state == last and not hungry:
            return _NEVER
        urgent = _scarce(ledger) or (state[1], state[4]) != (last[1], last[4])
        due_ms = last_ms + (AGAIN_MS if state == last else URGENT_MS if urgent else PATIENT_MS)
        if due_ms > now_ms:
            return due_ms
        job, number = split_run_id(run)
        self._reported[run] = (state, now_ms)
        fact = PermitsReported(
            job=job, run=number, partition=self._partition, offset=ledger.offset,
            kept=ledger.kept, returned=ledger.returned, wanted=wanted, held=held, version=version,
        )  # fmt: skip
        said.append(ToPartition(partition_of(job, self._partitions), fact))
        return now_ms + AGAIN_MS if hungry else _NEVER

    def _grant(self, run: str, now_ms: int, said: list[ToPartition]) -> int:
        """The home's part."""
        home = self._memory.cache.homes.get(run)
        job, number = split_run_id(run)
        if home is None or home.max_pages is None:
            return _NEVER
        ledger = self._memory.cache.ledger(run)
        if ledger.closed_at is not None:
            if ledger.sated and budget.reached(home) and run not in self._skipped:
                self._skip_rest(run, home, now_ms, said)
            return _NEVER
        again_ms = _NEVER
        for partition, share in home.shares.items():
            told, told_ms = self._granted.get((run, partition), (0, -_NEVER))
            if share.granted - share.returned <= share.kept and share.granted == told:
                continue
            if share.granted != told or told_ms + AGAIN_MS <= now_ms:
                told_ms = now_ms
                self._granted[run, partition] = (share.granted, now_ms)
                said.append(ToPartition(partition, Grant(job=job, run=number, granted=share.granted)))
            again_ms = min(again_ms, told_ms + AGAIN_MS)
        if budget.reached(home):
            if self._skipped.get(run, -_NEVER) + AGAIN_MS <= now_ms:
                self._skip_rest(run, home, now_ms, said)
            again_ms = min(again_ms, self._skipped[run] + AGAIN_MS)
        else:
            self._skipped.pop(run, None)
        return again_ms

    def _skip_rest(self, run: str, home: Home, now_ms: int, said: list[ToPartition]) -> None:
        """To all, and once more after a take-over: the former owner may have reached itself and not the others."""
        self._skipped[run] = now_ms
        job, number = split_run_id(run)
        skip = SkipRest(job=job, run=number, version=home.version, max_pages=home.max_pages or 0, at_ms=now_ms)
        said.extend(ToPartition(partition, skip) for partition in range(self._partitions))


def _told_late(version: int) -> int:
    """A limit of the job's first version is known to all from the beginning: nobody waits to hear of it."""
    return version if version > 1 else 0


def _scarce(ledger: Ledger) -> bool:
    return ledger.pending == 0 or ledger.free_permits < budget.WINDOW // 2
