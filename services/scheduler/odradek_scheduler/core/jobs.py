"""A job as one partition knows it, with the runs that began here: what decides keeps its history (rule A)."""

from typing import Any, Final

import msgspec

from odradek.contracts import CLOSED, JobChanged
from odradek_scheduler.core import limiting
from odradek_scheduler.core.state import PURGED

_UNREADABLE: Final = {"unreadable": True}
"""Instead of a specification that is none: no field of one, so nothing is sent for its job."""


class Job(msgspec.Struct, array_like=True):
    """A job as this partition knows it; the newest version wins."""

    offset: int = -1
    version: int = -1
    epoch: int = 0
    wanted: str = "running"
    spec: dict[str, Any] = {}
    run: int = 1
    at_ms: int = 0
    created_at_ms: int = 0
    """When it was accepted: what a duration in `expires` counts from."""
    begun: list[tuple[int, int, int]] = []
    """Its last runs after the first: the offset at which each began here, its number, and when (ms)."""
    limits: list[limiting.Remembered] = []
    """The last limits: the offset at which they were set, the job's version, `max_pages`, `max_pages_per_host`."""

    asked_run: int = 0
    """A person wants this run to begin at once."""
    over: tuple[int, str] | None = None
    """The offset at which it was cancelled or had expired, and which of the two: no run goes on after that."""

    def run_before(self, offset: int) -> int:
        """The run that is under way for a batch at this offset: begun by an earlier one."""
        for began_at, run, _ in reversed(self.begun):
            if began_at < offset:
                return run
        return self.begun[0][1] - 1 if self.begun else self.run

    def began_ms(self, run: int) -> int:
        """When a run began here; the first one when the job was accepted, which also stands for what is forgotten."""
        return next((at_ms for _, number, at_ms in self.begun if number == run), self.created_at_ms)

    def began_before_ms(self, at_ms: int) -> int:
        """When the run began in which something happened; that instant itself where the run is forgotten."""
        for _, _, began_ms in reversed(self.begun):
            if began_ms <= at_ms:
                return began_ms
        is_first = not self.begun or self.begun[0][1] == 2  # noqa: PLR2004  (the run after the first)
        return self.created_at_ms if is_first else at_ms

    @property
    def purged(self) -> bool:
        """True when nothing but this is left of it, or will be."""
        return self.wanted == PURGED


def sound(fact: JobChanged) -> JobChanged:
    """The fact as the fold can take it in: nobody has checked what a specification in the log says."""
    if fact.spec is None or limiting.can_be_read(fact.spec):
        return fact
    return msgspec.structs.replace(fact, spec=dict(_UNREADABLE))


def heard(job: Job, fact: JobChanged, offset: int) -> None:
    """What a batch that counts tells of a job."""
    if fact.version < job.version:
        return
    job.version, job.wanted, job.at_ms = fact.version, fact.wanted, fact.at_ms
    job.epoch, job.asked_run = max(job.epoch, fact.epoch), max(job.asked_run, fact.asked_run)
    job.spec = job.spec if fact.spec is None else fact.spec
    job.created_at_ms = job.created_at_ms or fact.created_at_ms or fact.at_ms
    if fact.spec is not None:
        job.limits = limiting.remembered(job.limits, limiting.limits_in(fact.spec, fact.version), offset)
    if fact.wanted in CLOSED:
        job.over = job.over or (offset, fact.wanted)


def limits_before(job: Job, offset: int) -> limiting.Limits:
    """The limits that a batch at this offset finds."""
    known = next((limiting.Limits(*each[1:]) for each in reversed(job.limits) if each[0] < offset), None)
    return known or limiting.limits_in(job.spec, job.version)
