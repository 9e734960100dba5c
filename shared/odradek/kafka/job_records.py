"""The newest record of each job, for services whose messages name the version that applies."""

import asyncio

from odradek.contracts import FetchRequest, JobRecord, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
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

    A job that was waited for in vain is not waited for again: thousands of its pages may follow one another. It is in
    vain when all that the topic holds has been read: while its broker is away, nobody knows.
    """

    def __init__(self, settings: Settings, patience_s: float = PATIENCE_S) -> None:
        self.view: View[JobRecord] = View(settings, JOBS, lambda _, value: decode(JobRecord, value))
        self._patience_s = patience_s
        self._ends = Ends(settings)
        self._asking = asyncio.Lock()
        self._gone: set[str] = set()

    def stop(self) -> None:
        """Read no more. Blocking."""
        self.view.stop()
        self._ends.close()

    async def record(self, request: FetchRequest) -> JobRecord | None:
        """The record that applies to a request, waited for when it is not there yet; None: there is no such job.

        Raises:
            InfrastructureAway: the version that the request was made by does not come, or the topic cannot be read.
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
            if record is None and await self._is_gone(request.job):
                return None
            raise InfrastructureAway(f"version {request.spec_version} of job {request.job} has not come") from None
        return record

    async def _is_gone(self, job: str) -> bool:
        async with self._asking:
            if job in self._gone:
                return True
            if not self.view.ready or not await asyncio.to_thread(self._at_end) or self.view.get(job) is not None:
                return False
            if len(self._gone) >= MOST_GONE:
                self._gone.clear()
            self._gone.add(job)
            return True

    def _at_end(self) -> bool:
        return self.view.has_read(self._ends.end_offsets(JOBS))
