"""Purging a job: cancel, let what is under way run out, then delete what was stored and the record itself."""

import asyncio
import time

from odradek.clock import now_ms
from odradek.contracts import JobPurged
from odradek.kafka.ends import Ends
from odradek.topics import GROUPS, ITEMS, PAGES, SCHEDULED
from odradek_api.gateway import Gateway
from odradek_api.ports import Drained, Results

PATIENCE_S = 20.0
LOOK_EVERY_S = 0.25
STEPS = (SCHEDULED, PAGES, ITEMS)
"""Whose ends must have been passed, one after the other."""


class Purge:
    """The record goes last, and only when nothing that needs it is left in Kafka; before it the schedulers are told.

    A service that meets a request of a job it does not know waits for the record.
    """

    def __init__(self, gateway: Gateway, results: Results, drained: Drained, patience_s: float = PATIENCE_S) -> None:
        self._gateway, self._results, self._drained = gateway, results, drained
        self._patience_s = patience_s

    async def purge(self, job: str) -> int | None:
        """The number of items deleted; None: cancelled, but its last fetches are not through yet, so ask again.

        Raises:
            Problem: 404.
            InfrastructureAway: Kafka does not answer.
        """
        if self._gateway.records.get(job).wanted != "expired":
            await self._gateway.want(job, "cancelled")
        until = time.monotonic() + self._patience_s
        while not self._calm(job):
            if time.monotonic() > until:
                return None
            await asyncio.sleep(LOOK_EVERY_S)
        if not await self._drained.drained(until - time.monotonic()):
            return None
        deleted = await asyncio.to_thread(self._results.forget_job, job)
        await self._gateway.records.broadcast([JobPurged(job=job, at_ms=now_ms())])
        await self._gateway.records.forget(job)
        return deleted

    def _calm(self, job: str) -> bool:
        """Every partition has heard of the end, and nothing of the job is out."""
        standing = self._gateway.standing(job)
        return not standing.in_flight and all(r.version >= standing.record.version for r in standing.reports)


class Pipeline:
    """Asks Kafka how far the services are."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends

    async def drained(self, within_s: float) -> bool:
        """True once everything that was sent when this was asked is fetched, parsed and stored; False: not in time."""
        until = time.monotonic() + within_s
        for topic in STEPS:
            ends = await asyncio.to_thread(self._ends.end_offsets, topic)
            while not await asyncio.to_thread(self._ends.passed, GROUPS[topic], topic, ends):
                if time.monotonic() > until:
                    return False
                await asyncio.sleep(LOOK_EVERY_S)
        return True
