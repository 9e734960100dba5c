"""What the gateway does to jobs: all of it by messages, in an order that survives a kill at any point.

A submission first says in the job's record that it is under way (`seeding`, with a higher epoch), then tells every
frontier partition, then sends the seeds, and only when Kafka has them all says that it is done. A gateway that dies
in between finishes its own submissions of specification seeds when it comes back.
"""

import re
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec

from odradek.contracts import Fact, JobChanged, JobRecord, Progress, Reached, RetryAsked, Wanted, encode
from odradek.kafka.packing import batch_for
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Send
from odradek.kafka.view import View
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.topics import FRONTIER, JOBS
from odradek_api.core.problems import Problem, finished_for_good, no_such_job, wrong_fields
from odradek_api.core.seeds import SeedJudge, SeedLine, Verdicts, of_specification
from odradek_api.core.standing import Standing, reports_of

SPEC_SEEDS = "specification"
OVER = ("cancelled", "expired")


def now_ms() -> int:
    """The clock of the gateway, in milliseconds since 1970."""
    return int(time.time() * 1000)


class Gateway:
    """Writes the topics `jobs` and `frontier`, and reads where jobs stand from views."""

    def __init__(
        self,
        settings: Settings,
        producer: StageProducer,
        jobs: View[JobRecord],
        progress: View[Progress | Reached],
    ) -> None:
        self._settings, self._producer = settings, producer
        self._jobs, self._progress = jobs, progress
        self._written: dict[str, JobRecord] = {}

    def record(self, job: str) -> JobRecord:
        """The newest record of a job, this gateway's own writes included.

        Raises:
            Problem: 404.
        """
        viewed, written = self._jobs.get(job), self._written.get(job)
        newest = max((each for each in (viewed, written) if each is not None), key=lambda r: r.version, default=None)
        if newest is None:
            raise no_such_job(job)
        return newest

    def records(self) -> list[JobRecord]:
        """All jobs, newest first."""
        names = dict.fromkeys([job for job, _ in self._jobs.items()] + list(self._written))
        return sorted((self.record(job) for job in names), key=lambda record: -record.created_at_ms)

    def standing(self, job: str) -> Standing:
        """Where a job stands now."""
        reached = self._progress.get(job)
        reports = reports_of(job, dict(self._progress.items()), self._producer.partitions(FRONTIER))
        return Standing(self.record(job), reports, reached if isinstance(reached, Reached) else None)

    async def submit(self, spec: JobSpecification, *, idempotency_key: str | None, owner: str | None) -> JobRecord:
        """A new job with its seeds in Kafka; the same idempotency key gives the same job.

        Raises:
            Problem: 422 when a seed cannot be crawled; nothing was created then.
        """
        known = self._with_key(idempotency_key, owner)
        if known is not None:
            return known
        record = JobRecord(
            job=_job_id(spec),
            spec=spec.to_wire(),
            seeding=(SPEC_SEEDS,) if spec.seeds else (),
            created_at_ms=now_ms(),
            changed_at_ms=now_ms(),
            idempotency_key=idempotency_key,
            owner=owner,
        )
        verdicts = Verdicts()
        judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
        facts = judge.judge_all(of_specification(spec), verdicts)
        if verdicts.rejected:
            raise wrong_fields(
                [{"field": f"seeds.{each.line}", "message": each.sentence()} for each in verdicts.rejected]
            )
        await self._write(record)
        await self._tell(record, spec=True)
        await self._producer.send((), facts)
        return await self._submitted(record, SPEC_SEEDS) if facts else record

    async def add_seeds(self, job: str, chunks: AsyncIterator[Iterable[tuple[int, SeedLine | str]]]) -> Verdicts:
        """Stream seeds into a job; a finished one is open again.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired.
        """
        record = self.record(job)
        if record.wanted in OVER:
            raise finished_for_good(job, record.wanted)
        submission = f"{self._settings.instance}:{uuid.uuid4().hex[:12]}"
        record = await self._write(
            msgspec.structs.replace(record, epoch=record.epoch + 1, seeding=(*record.seeding, submission))
        )
        await self._tell(record)
        verdicts = Verdicts()
        judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
        try:
            async for chunk in chunks:
                await self._producer.send((), judge.judge_all(chunk, verdicts))
        finally:
            await self._submitted(self.record(job), submission, seeded=verdicts.received > 0)
        return verdicts

    async def want(self, job: str, wanted: Wanted) -> JobRecord:
        """Pause, resume, cancel or expire a job.

        Raises:
            Problem: 404; 409 when the job is over.
        """
        record = self.record(job)
        if record.wanted in OVER and wanted != record.wanted:
            raise finished_for_good(job, record.wanted)
        if record.wanted == wanted:
            return record
        record = await self._write(msgspec.structs.replace(record, wanted=wanted))
        await self._tell(record)
        return record

    async def change(self, job: str, spec: JobSpecification) -> JobRecord:
        """Give a job another specification, live; its seeds stay what they were."""
        record = self.record(job)
        if record.wanted in OVER:
            raise finished_for_good(job, record.wanted)
        record = await self._write(msgspec.structs.replace(record, spec=spec.to_wire()))
        await self._tell(record, spec=True)
        return record

    async def retry_failed(self, job: str, reason: str | None) -> JobRecord:
        """Open every failed URL of a job again, with the next try."""
        record = self.record(job)
        if record.wanted in OVER:
            raise finished_for_good(job, record.wanted)
        submission = f"{self._settings.instance}:retry"
        record = await self._write(
            msgspec.structs.replace(record, epoch=record.epoch + 1, seeding=(*record.seeding, submission))
        )
        await self._tell(record)
        asked = RetryAsked(job=job, epoch=record.epoch, reason=reason, run=record.run, at_ms=now_ms())
        await self._broadcast([asked])
        return await self._submitted(record, submission, seeded=record.seeded)

    async def recover(self) -> None:
        """Finish what this gateway had begun when it died."""
        for record in self.records():
            mine = [
                each for each in record.seeding if each == SPEC_SEEDS or each.startswith(f"{self._settings.instance}:")
            ]
            if not mine:
                continue
            await self._tell(record, spec=True)
            spec = JobSpecification.from_wire(record.spec)
            judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
            await self._producer.send((), judge.judge_all(of_specification(spec), Verdicts()))
            left = tuple(each for each in record.seeding if each not in mine)
            await self._write(msgspec.structs.replace(record, seeding=left, seeded=record.seeded or bool(spec.seeds)))

    def _with_key(self, idempotency_key: str | None, owner: str | None) -> JobRecord | None:
        if idempotency_key is None:
            return None
        return next((r for r in self.records() if (r.idempotency_key, r.owner) == (idempotency_key, owner)), None)

    async def _submitted(self, record: JobRecord, submission: str, *, seeded: bool = True) -> JobRecord:
        left = tuple(each for each in record.seeding if each != submission)
        return await self._write(msgspec.structs.replace(record, seeding=left, seeded=record.seeded or seeded))

    async def _write(self, record: JobRecord) -> JobRecord:
        known = self._written.get(record.job) or self._jobs.get(record.job)
        version = known.version + 1 if known is not None else record.version
        record = msgspec.structs.replace(record, version=version, changed_at_ms=now_ms())
        await self._producer.send([Send(JOBS, record.job, encode(record))])
        self._written[record.job] = record
        return record

    async def _tell(self, record: JobRecord, *, spec: bool = False) -> None:
        fact = JobChanged(
            job=record.job,
            version=record.version,
            epoch=record.epoch,
            wanted=record.wanted,
            spec={name: value for name, value in record.spec.items() if name != "seeds"} if spec else None,
            run=record.run,
            at_ms=record.changed_at_ms,
        )
        await self._broadcast([fact])

    async def _broadcast(self, facts: Sequence[Fact]) -> None:
        partitions = range(self._producer.partitions(FRONTIER))
        await self._producer.send([batch_for(partition, facts) for partition in partitions])


def _job_id(spec: JobSpecification) -> str:
    name = spec.name or (spec.seeds[0].url.split("//")[-1].split("/")[0] if spec.seeds else "job")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "job"
    return f"{slug}-{uuid.uuid4().hex[:8]}"


def cursor_page(records: Sequence[JobRecord], cursor: str | None, limit: int) -> tuple[list[JobRecord], str | None]:
    """One page of jobs; the cursor is the id of the last one shown, so that new jobs do not move it.

    Raises:
        Problem: 400 for a cursor that is none.
    """
    start = 0
    if cursor is not None:
        places = [place for place, record in enumerate(records) if record.job == cursor]
        if not places:
            raise Problem(
                400, "No such cursor", f"The cursor {cursor!r} is not from this list; start again without it."
            )
        start = places[0] + 1
    page = list(records[start : start + limit])
    return page, page[-1].job if start + limit < len(records) and page else None
