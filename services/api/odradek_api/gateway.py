"""What the gateway does to jobs: all of it by messages, in an order that survives a kill at any point.

A submission first says in the job's record that it is under way (`seeding`, with a higher epoch), then tells every
frontier partition, then sends the seeds, and only when Kafka has them all says that it is done. What is cut off in
between, by a kill or by Kafka being away, is finished by `heal`.
"""

import re
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from odradek.clock import now_ms
from odradek.contracts import CLOSED, JobRecord, Progress, Reached, RetryAsked, Wanted
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.topics import FRONTIER
from odradek_api.core.problems import Problem, finished_for_good, key_used_twice, wrong_fields
from odradek_api.core.seeds import BadLine, SeedJudge, SeedLine, Verdict, Verdicts, of_specification
from odradek_api.core.standing import Standing, reports_of
from odradek_api.ports import Log, Newest
from odradek_api.records import Locks, Records

SPECIFICATION, SEEDS, RETRY = "specification", "seeds", "retry"
"""Kinds of submissions; one is named instance:kind:…"""

Lines = Iterable[tuple[int, SeedLine | BadLine]]


class Gateway:
    """Writes the topics `jobs` and `frontier`, and reads where jobs stand from views."""

    def __init__(
        self, settings: Settings, log: Log, jobs: Newest[JobRecord], progress: Newest[Progress | Reached]
    ) -> None:
        self._settings, self._log, self._progress = settings, log, progress
        self.records = Records(log, jobs)
        self._under_way: set[str] = set()
        self._keys = Locks()

    def standing(self, job: str) -> Standing:
        """Where a job stands now.

        Raises:
            Problem: 404.
        """
        record, reached = self.records.get(job), self._progress.get(job)
        reports = reports_of(job, self._progress.get, self._log.partitions(FRONTIER))
        return Standing(record, reports, reached if isinstance(reached, Reached) else None)

    async def submit(self, spec: JobSpecification, *, idempotency_key: str | None, owner: str | None) -> JobRecord:
        """A new job with its seeds in Kafka; the same idempotency key gives the same job.

        Raises:
            Problem: 422 when a seed cannot be crawled, or the key was used for other seeds; nothing was created then.
        """
        if idempotency_key is None:
            return await self._new(spec, None, owner)
        async with self._keys.of(f"{owner}\0{idempotency_key}"):
            known = self._with_key(idempotency_key, owner)
            if known is None:
                return await self._new(spec, idempotency_key, owner)
            if known.spec.get("seeds") != spec.to_wire().get("seeds"):
                raise key_used_twice(idempotency_key, known.job)
            await self._heal(known)
            return self.records.get(known.job)

    def refuse_over(self, job: str) -> None:
        """Nothing for a job that can be worked on.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired.
        """
        _open(self.records.get(job))

    async def add_seeds(self, job: str, chunks: AsyncIterator[Lines]) -> Verdicts:
        """Stream seeds into a job; a finished one is open again.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired.
        """
        verdicts = Verdicts()
        async for _ in self.judged_seeds(job, chunks, verdicts):
            pass
        return verdicts

    async def judged_seeds(
        self, job: str, chunks: AsyncIterator[Lines], verdicts: Verdicts
    ) -> AsyncIterator[Sequence[Verdict]]:
        """As `add_seeds`, and the verdicts of every chunk once Kafka has the seeds taken from it."""
        submission = self._submission(SEEDS)
        self._under_way.add(submission)
        try:
            record = await self._begin(job, submission)
            judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
            try:
                async for chunk in chunks:
                    facts, told = judge.judge_all(chunk, verdicts)
                    await self._log.send((), facts)
                    yield told
            finally:
                await self._finish(job, submission, seeded=verdicts.received > 0)
        finally:
            self._under_way.discard(submission)

    async def want(self, job: str, wanted: Wanted) -> JobRecord:
        """Pause, resume, cancel or expire a job.

        Raises:
            Problem: 404; 409 when the job is over.
        """
        record = self.records.get(job)
        if record.wanted == wanted:
            if job in self.records.untold:
                await self.records.tell_again(job)
            return record
        return await self.records.revise(job, lambda old: msgspec.structs.replace(_open(old), wanted=wanted))

    async def change(self, job: str, spec: Mapping[str, object]) -> JobRecord:
        """Give a job another specification (as on the wire), live.

        Raises:
            Problem: 404; 409 when the job is over.
        """
        return await self.records.revise(
            job, lambda old: msgspec.structs.replace(_open(old), spec=dict(spec)), spec=True
        )

    async def retry_failed(self, job: str, reason: str | None) -> JobRecord:
        """Open every failed URL of a job again, with the next try.

        Raises:
            Problem: 404; 409 when the job is over.
        """
        submission = self._submission(RETRY, reason or "")
        self._under_way.add(submission)
        try:
            record = await self._begin(job, submission)
            await self._ask_retries(record, reason)
            return await self._finish(job, submission, seeded=record.seeded)
        finally:
            self._under_way.discard(submission)

    async def recover(self) -> None:
        """At start: tell again of every job that is not over, and finish what was cut off.

        Raises:
            InfrastructureAway: Kafka does not take it.
        """
        for record in self.records.all():
            if record.wanted not in CLOSED:
                await self.records.tell_again(record.job)
        await self.heal()

    async def heal(self) -> None:
        """Finish submissions of this gateway that nobody works on, and tell what was not told.

        Raises:
            InfrastructureAway: Kafka is still away.
        """
        for job in self.records.untold:
            await self.records.tell_again(job)
        for record in self.records.all():
            await self._heal(record)

    async def _heal(self, record: JobRecord) -> None:
        for submission in record.seeding:
            instance, kind, detail = (*submission.split(":", 2), "", "")[:3]
            if instance != self._settings.instance or submission in self._under_way:
                continue
            self._under_way.add(submission)
            try:
                if kind == SPECIFICATION:
                    await self.records.tell_again(record.job)
                    await self._send_own_seeds(record)
                elif kind == RETRY:
                    await self._ask_retries(record, detail.partition(":")[2] or None)
                await self._finish(record.job, submission, seeded=record.seeded or kind != RETRY)
            finally:
                self._under_way.discard(submission)

    async def _new(self, spec: JobSpecification, idempotency_key: str | None, owner: str | None) -> JobRecord:
        submission, at_ms = self._submission(SPECIFICATION), now_ms()
        record = JobRecord(
            job=_job_id(spec),
            spec=spec.to_wire(),
            seeding=(submission,) if spec.seeds else (),
            created_at_ms=at_ms,
            changed_at_ms=at_ms,
            idempotency_key=idempotency_key,
            owner=owner,
        )
        verdicts = Verdicts()
        judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
        facts, _ = judge.judge_all(of_specification(spec), verdicts)
        if verdicts.rejected:
            raise wrong_fields(
                [{"field": f"seeds.{each.line}", "message": each.sentence()} for each in verdicts.rejected]
            )
        self._under_way.add(submission)
        try:
            await self.records.create(record)
            await self._log.send((), facts)
            return await self._finish(record.job, submission) if facts else record
        finally:
            self._under_way.discard(submission)

    async def _send_own_seeds(self, record: JobRecord) -> None:
        judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
        facts, _ = judge.judge_all(of_specification(JobSpecification.from_wire(record.spec)), Verdicts())
        await self._log.send((), facts)

    async def _ask_retries(self, record: JobRecord, reason: str | None) -> None:
        asked = RetryAsked(job=record.job, epoch=record.epoch, reason=reason, run=record.run, at_ms=now_ms())
        await self.records.broadcast([asked])

    async def _begin(self, job: str, submission: str) -> JobRecord:
        def begun(old: JobRecord) -> JobRecord:
            seeding = (*_open(old).seeding, submission)
            return msgspec.structs.replace(old, epoch=old.epoch + 1, seeding=seeding)

        return await self.records.revise(job, begun)

    async def _finish(self, job: str, submission: str, *, seeded: bool = True) -> JobRecord:
        def finished(old: JobRecord) -> JobRecord:
            left = tuple(each for each in old.seeding if each != submission)
            return msgspec.structs.replace(old, seeding=left, seeded=old.seeded or seeded)

        return await self.records.revise(job, finished, told=False)

    def _submission(self, kind: str, detail: str = "") -> str:
        return f"{self._settings.instance}:{kind}:{uuid.uuid4().hex[:12]}:{detail}"

    def _with_key(self, idempotency_key: str, owner: str | None) -> JobRecord | None:
        wanted = (idempotency_key, owner)
        return next((each for each in self.records.all() if (each.idempotency_key, each.owner) == wanted), None)


def _open(record: JobRecord) -> JobRecord:
    if record.wanted in CLOSED:
        raise finished_for_good(record.job, record.wanted)
    return record


def _job_id(spec: JobSpecification) -> str:
    name = spec.name or (spec.seeds[0].url.split("//")[-1].split("/")[0] if spec.seeds else "job")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "job"
    return f"{slug}-{uuid.uuid4().hex[:8]}"


def cursor_page(records: Sequence[JobRecord], cursor: str | None, limit: int) -> tuple[list[JobRecord], str | None]:
    """One page of jobs, newest first; the cursor is time and id of the last one shown, so it outlives that job.

    Raises:
        Problem: 400 for a cursor that is none.
    """
    left = list(records)
    if cursor is not None:
        at_ms, _, job = cursor.partition(".")
        if not at_ms.isdecimal() or not at_ms.isascii() or not job:
            raise Problem(
                400, "No such cursor", f"The cursor {cursor!r} is not from this list; start again without it."
            )
        last = (-int(at_ms), job)
        left = [each for each in left if (-each.created_at_ms, each.job) > last]
    page = left[:limit]
    return page, f"{page[-1].created_at_ms}.{page[-1].job}" if len(left) > limit else None
