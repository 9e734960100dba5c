"""What is known of the job of a record, waited for where it must be."""

import asyncio
from typing import Protocol

import structlog

from odradek.errors import InfrastructureAway
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


class KnownRules:
    """A job's record is older than what comes of it; one that does not come has been deleted."""

    def __init__(self, jobs: Jobs, patience_s: float = JOB_PATIENCE_S) -> None:
        self._jobs, self._patience_s = jobs, patience_s
        self._gone: set[str] = set()

    async def of(self, job: str) -> JobRules:
        """The rules of a job.

        Raises:
            InfrastructureAway: the jobs have not been read yet.
        """
        if not self._jobs.ready:
            raise InfrastructureAway("the topic jobs has not been read to its end yet")
        deadline = asyncio.get_running_loop().time() + self._patience_s
        while (rules := self._jobs.get(job)) is None and job not in self._gone:
            if asyncio.get_running_loop().time() >= deadline:
                log.warning("records_of_unknown_job", job=job)
                self._gone.add(job)
            else:
                await asyncio.sleep(POLL_S)
        return rules or UNKNOWN
