"""What is on its way into a job: noted in the job's record before the first message, and taken out after the last.

While there is a submission the job cannot complete. What a kill or a Kafka that is away cuts off stays in the record:
the gateway that began it finishes it, or another one when that is gone.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import CLOSED, JobRecord, SeedReceipt
from odradek.specification import JobSpecification
from odradek_api.core.problems import finished_for_good
from odradek_api.core.receipts import with_receipt
from odradek_api.records import Records

log = structlog.get_logger()
SPECIFICATION, SEEDS, RETRY, RELEASE, LIMIT = "specification", "seeds", "retry", "release", "limit"


class Left(NamedTuple):
    """A submission that nobody works on."""

    name: str
    kind: str
    detail: str


def open_record(record: JobRecord) -> JobRecord:
    """The record of a job that can be worked on.

    Raises:
        Problem: 409 for one that was cancelled or has expired.
    """
    if record.wanted in CLOSED:
        raise finished_for_good(record.job, record.wanted)
    if record.spec.get("expires") is not None:
        expires_at_ms = JobSpecification.from_wire(record.spec).expires_at_ms(record.created_at_ms)
        if expires_at_ms is not None and expires_at_ms <= now_ms():
            raise finished_for_good(record.job, "expired")
    return record


class Submissions:
    """Begins and ends submissions; one is named gateway:kind:number:detail."""

    def __init__(self, gateway: str, records: Records) -> None:
        self._gateway, self._records = gateway, records
        self._under_way: set[str] = set()

    @contextmanager
    def working(self, kind: str, detail: str = "") -> Iterator[str]:
        """A new submission, which nobody else will finish meanwhile."""
        with self.working_on(f"{self._gateway}:{kind}:{uuid.uuid4().hex[:12]}:{detail}") as name:
            yield name

    @contextmanager
    def working_on(self, name: str) -> Iterator[str]:
        """A submission that was left by somebody."""
        self._under_way.add(name)
        try:
            yield name
        finally:
            self._under_way.discard(name)

    def left(self, record: JobRecord, gone: Collection[str]) -> list[Left]:
        """Submissions of this gateway, and of those that are gone, to be finished."""
        names = [name for name in record.seeding if name not in self._under_way]
        parts = [(name, *(*name.split(":", 3), "", "", "")[:4]) for name in names]
        mine = {self._gateway, *gone}
        return [Left(name, kind, detail) for name, gateway, kind, _, detail in parts if gateway in mine]

    def gateways(self) -> set[str]:
        """Those that have begun what is not finished."""
        return {name.partition(":")[0] for record in self._records.each() for name in record.seeding}

    async def begin(self, job: str, submission: str) -> JobRecord:
        """Note it, with a higher epoch: a finished job is open again.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired.
        """

        def begun(old: JobRecord) -> JobRecord:
            seeding = (*open_record(old).seeding, submission)
            return msgspec.structs.replace(old, epoch=old.epoch + 1, seeding=seeding)

        return await self._records.revise(job, begun)

    async def hold(self, job: str, submission: str) -> None:
        """Note it again if another gateway took this one for gone and finished it, so that the job waits again.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired.
        """
        if submission not in self._records.get(job).seeding:
            log.warning("submission_taken", job=job, submission=submission)
            await self.begin(job, submission)

    async def finish(
        self, job: str, submission: str, *, seeded: bool = True, receipt: SeedReceipt | None = None
    ) -> JobRecord:
        """Take it out; `receipt`: how far a list with an idempotency key got.

        Raises:
            Problem: 404.
        """

        def finished(old: JobRecord) -> JobRecord:
            left = tuple(each for each in old.seeding if each != submission)
            receipts = old.receipts if receipt is None else with_receipt(old.receipts, receipt)
            return msgspec.structs.replace(old, seeding=left, seeded=old.seeded or seeded, receipts=receipts)

        return await self._records.revise(job, finished, told=False)
