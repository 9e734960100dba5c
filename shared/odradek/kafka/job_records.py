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


class JobRecords:
    """A view of the topic `jobs` that waits for the version a request was made by."""

    def __init__(self, settings: Settings) -> None:
        self.view: View[JobRecord] = View(settings, JOBS, lambda _, value: decode(JobRecord, value))

    async def record(self, request: FetchRequest) -> JobRecord | None:
        """The record that applies to a request, waited for when it is not there yet; None: there is no such job.

        Raises:
            InfrastructureAway: the version that the request was made by does not come.
        """
        record = self.view.get(request.job)
        if record is not None and record.version >= request.spec_version:
            return record
        try:
            async with asyncio.timeout(PATIENCE_S):
                while record is None or record.version < request.spec_version:
                    await asyncio.sleep(POLL_S)
                    record = self.view.get(request.job)
        except TimeoutError:
            if record is None and self.view.ready:
                return None
            raise InfrastructureAway(f"version {request.spec_version} of job {request.job} has not come") from None
        return record
