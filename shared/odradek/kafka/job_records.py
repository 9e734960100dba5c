"""The newest record of each job, for services whose messages name the version that applies."""

import asyncio

from odradek.contracts import FetchRequest, JobRecord, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.view import View
from odradek.settings import Settings
from odradek.topics import JOBS

PATIENCE_S = 10.0
"""How long the record of an unknown job, or of a newer version, is waited for."""
POLL_S = 0.05
MOST_GONE = 10_000
"""Jobs remembered as deleted; all are forgotten beyond it, and waited for once more."""


class JobRecords:
    """A view of the topic `jobs` that waits for the version a request was made by.

    A job that was waited for in vain is not waited for again: thousands of its pages may follow one another.
    """

    def __init__(self, settings: Settings, patience_s: float = PATIENCE_S) -> None:
        self.view: View[JobRecord] = View(settings, JOBS, lambda _, value: decode(JobRecord, value))
        self._patience_s = patience_s
        self._gone: set[str] = set()

    async def record(self, request: FetchRequest) -> JobRecord | None:
        """The record that applies to a request, waited for when it is not there yet; None: there is no such job.

        Raises:
            InfrastructureAway: the version that the request was made by does not come.
        """
        record = self.view.get(request.job)
        if record is not None and record.version >= request.spec_version:
            return record
        if record is None and request.job in self._gone:
            return None
        try:
            async with asyncio.timeout(self._patience_s):
                while record is None or record.version < request.spec_version:
                    await asyncio.sleep(POLL_S)
                    record = self.view.get(request.job)
        except TimeoutError:
            if record is None and self.view.ready:
                if len(self._gone) >= MOST_GONE:
                    self._gone.clear()
                self._gone.add(request.job)
                return None
            raise InfrastructureAway(f"version {request.spec_version} of job {request.job} has not come") from None
        return record
