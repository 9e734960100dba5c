"""What is known of the job of a record, waited for where it must be."""

import asyncio
from typing import Protocol

import structlog

from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.kafka.view import View
from odradek.topics import JOBS
from odradek_indexer.core.job_rules import UNKNOWN, JobRules
from odradek_indexer.settings import JOB_PATIENCE_S

POLL_S = 0.05
log = structlog.get_logger()


class Jobs(Protocol):
    """The rules of the jobs that are known."""

    @property
    def ready(self) -> bool:
        """True once all that was there at the start has been read."""
        ...

    def get(self, key: str) -> JobRules | None:
        """The rules of one job."""
        ...

    def values(self) -> list[JobRules]:
        """The rules of all jobs."""
        ...

    def at_end(self) -> bool:
        """True when every record that is there by now has been read. Blocking.

        Raises:
            InfrastructureAway: the brokers do not answer.
        """
        ...


class JobsTopic:
    """The rules of the jobs in the topic `jobs`."""

    def __init__(self, view: View[JobRules], ends: Ends) -> None:
        self._view, self._ends = view, ends

    @property
    def ready(self) -> bool:
        """As `Jobs.ready`."""
        return self._view.ready

    def get(self, key: str) -> JobRules | None:
        """As `Jobs.get`."""
        return self._view.get(key)

    def values(self) -> list[JobRules]:
        """As `Jobs.values`."""
        return [rules for _, rules in self._view.items()]

    def at_end(self) -> bool:
        """As `Jobs.at_end`."""
        return self._view.has_read(self._ends.end_offsets(JOBS))


class KnownRules:
    """A job's record is older than what comes of it; one that is not there at the end of the topic has been deleted."""

    def __init__(self, jobs: Jobs, patience_s: float = JOB_PATIENCE_S) -> None:
        self._jobs, self._patience_s = jobs, patience_s
        self._gone: set[str] = set()

    async def of(self, job: str) -> JobRules:
        """The rules of a job.

        Raises:
            InfrastructureAway: not all jobs have been read.
        """
        if not self._jobs.ready:
            raise InfrastructureAway("the topic jobs has not been read to its end yet")
        deadline = asyncio.get_running_loop().time() + self._patience_s
        while (rules := self._jobs.get(job)) is None and job not in self._gone:
            if await asyncio.to_thread(self._jobs.at_end):
                if self._jobs.get(job) is None:
                    log.warning("records_of_unknown_job", job=job)
                    self._gone.add(job)
            elif asyncio.get_running_loop().time() >= deadline:
                raise InfrastructureAway(f"the topic jobs has not been read to its end, where job {job} may be")
            else:
                await asyncio.sleep(POLL_S)
        return rules or UNKNOWN

    def archives(self) -> set[str]:
        """Where jobs have their archives."""
        return {rules.archive for rules in self._jobs.values() if rules.archive is not None}
