"""What the gateway does to jobs: all of it by messages, in an order that survives a kill at any point.

A submission first says in the job's record that it is under way (`seeding`, with a higher epoch), then tells every
frontier partition, then sends the seeds, and only when Kafka has them all says that it is done. What is cut off in
between, by a kill or by Kafka being away, is finished by `heal`.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from odradek.archives import archive_refusal
from odradek.clock import now_ms
from odradek.contracts import CLOSED, JobRecord, JobState, PatternReleased, Progress, Reached, RetryAsked, Wanted
from odradek.kafka.packing import batch_for
from odradek.settings import Settings
from odradek.shapes import host_of
from odradek.specification import JobSpecification
from odradek.topics import FRONTIER
from odradek.urls import CrawlUrl, fingerprint_ranges, identify, partition_of
from odradek_api.core.census import Census
from odradek_api.core.checks import wrong_in
from odradek_api.core.cursors import is_number
from odradek_api.core.patching import lifts_limit
from odradek_api.core.problems import Problem, key_used_twice, no_such_cursor, wrong_fields
from odradek_api.core.seeds import SeedJudge, Verdicts, of_specification
from odradek_api.core.standing import Standing, state_of
from odradek_api.hearing import Hearing
from odradek_api.ports import Log, Newest
from odradek_api.records import Locks, Records
from odradek_api.seeding import Seeding
from odradek_api.submissions import LIMIT, RELEASE, RETRY, SPECIFICATION, Submissions, open_record

RETRIED_TOGETHER = 2_000
"""About so many URLs of a partition are looked at in one batch."""


class Gateway:
    """Writes the topics `jobs` and `frontier`, and reads where jobs stand from views.

    `name` is no other gateway's, not even an earlier one's in its place.
    """

    def __init__(
        self,
        settings: Settings,
        log: Log,
        jobs: Newest[JobRecord],
        progress: Newest[Progress | Reached],
        name: str = "gateway",
    ) -> None:
        self._settings, self._log, self._progress = settings, log, progress
        self.hearing = Hearing(log, progress)
        self.records = Records(log, jobs, self.hearing.in_its_run)
        self._submissions = Submissions(name, self.records)
        self.seeding = Seeding(settings, log, self.records, self._submissions)
        self._keys = Locks()

    def standing(self, job: str) -> Standing:
        """Where a job stands now.

        Raises:
            Problem: 404.
        """
        return self.hearing.standing(self.records.get(job))

    def state(self, record: JobRecord) -> JobState:
        """The state of a job now, without its counters."""
        reached = self._progress.get(record.job)
        return state_of(record, reached if isinstance(reached, Reached) else None)

    def census(self) -> Census:
        """All jobs and their states now."""
        return Census([(record, self.state(record)) for record in self.records.all()])

    async def submit(self, spec: JobSpecification, *, idempotency_key: str | None, owner: str | None) -> JobRecord:
        """A new job with its seeds in Kafka; the same idempotency key gives the same job.

        Raises:
            Problem: 422 when a seed cannot be crawled, or the key was used for other seeds; nothing was created then.
        """
        self._check(spec)
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
        open_record(self.records.get(job))

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
        return await self.records.revise(job, lambda old: msgspec.structs.replace(open_record(old), wanted=wanted))

    async def change(self, job: str, spec: JobSpecification) -> JobRecord:
        """Give a job another specification, live; a higher `max_pages` opens a job again that had reached the old one.

        Raises:
            Problem: 404; 409 when the job is over; 422 for a secret written out, or a webhook in a private network.
        """
        self._check(spec)
        wire = spec.to_wire()
        if not lifts_limit(self.records.get(job).spec, wire):
            return await self.records.revise(
                job, lambda old: msgspec.structs.replace(open_record(old), spec=wire), spec=True
            )
        with self._submissions.working(LIMIT) as submission:
            record = await self.records.revise(job, lambda old: _lifted(open_record(old), wire, submission), spec=True)
            return await self._submissions.finish(job, submission, seeded=record.seeded)

    async def retry_failed(self, job: str, reason: str | None) -> JobRecord:
        """Open every failed URL of a job again, with the next try.

        Raises:
            Problem: 404; 409 when the job is over.
        """
        with self._submissions.working(RETRY, reason or "") as submission:
            record = await self._submissions.begin(job, submission)
            await self._ask_retries(record, reason)
            return await self._submissions.finish(job, submission, seeded=record.seeded)

    async def release(self, job: str, pattern: str) -> JobRecord:
        """Let a pattern of URLs go on that was taken for a trap.

        Raises:
            Problem: 404; 409 when the job is over; 422 for what is no pattern.
        """
        _key_of(pattern)
        with self._submissions.working(RELEASE, pattern) as submission:
            record = await self._submissions.begin(job, submission)
            await self._tell_release(record, pattern)
            return await self._submissions.finish(job, submission, seeded=record.seeded)

    async def recover(self) -> None:
        """At start: tell again of every job that is not over, and finish what was cut off.

        Raises:
            InfrastructureAway: Kafka does not take it.
        """
        for record in self.records.all():
            if record.wanted not in CLOSED:
                await self.records.tell_again(record.job)
        await self.heal()

    def begun_by(self) -> set[str]:
        """Gateways with submissions that are not finished."""
        return self._submissions.gateways()

    async def heal(self, gone: Collection[str] = ()) -> None:
        """Finish submissions that nobody works on, of this gateway and of those that are gone; tell what was not told.

        Raises:
            InfrastructureAway: Kafka is still away.
        """
        for job in self.records.untold:
            await self.records.tell_again(job)
        for record in self.records.all():
            await self._heal(record, gone)

    def _check(self, spec: JobSpecification) -> None:
        wrong = list(wrong_in(spec, allow_private=self._settings.allow_private_networks))
        archive = spec.archive
        refusal = None if archive is None else archive_refusal(archive.warc, self._settings.archive_dir)
        if refusal is not None:
            wrong.append({"field": "archive.warc", "message": refusal})
        if wrong:
            raise wrong_fields(wrong)

    async def _heal(self, record: JobRecord, gone: Collection[str] = ()) -> None:
        for left in self._submissions.left(record, gone):
            with self._submissions.working_on(left.name):
                if left.kind in (SPECIFICATION, LIMIT):
                    await self.records.tell_again(record.job)
                if left.kind == SPECIFICATION:
                    await self._send_own_seeds(record)
                elif left.kind == RETRY:
                    await self._ask_retries(record, left.detail or None)
                elif left.kind == RELEASE:
                    await self._tell_release(record, left.detail)
                seeded = record.seeded or left.kind not in (RETRY, RELEASE, LIMIT)
                await self._submissions.finish(record.job, left.name, seeded=seeded)

    async def _new(self, spec: JobSpecification, idempotency_key: str | None, owner: str | None) -> JobRecord:
        at_ms = now_ms()
        record = JobRecord(
            job=_job_id(spec),
            spec=spec.to_wire(),
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
        if not facts:
            await self.records.create(record)
            return record
        with self._submissions.working(SPECIFICATION) as submission:
            await self.records.create(msgspec.structs.replace(record, seeding=(submission,)))
            await self._log.send((), facts)
            return await self._submissions.finish(record.job, submission)

    async def _send_own_seeds(self, record: JobRecord) -> None:
        judge = SeedJudge(record, allow_private=self._settings.allow_private_networks)
        facts, _ = judge.judge_all(of_specification(JobSpecification.from_wire(record.spec)), Verdicts())
        await self._log.send((), facts)

    async def _ask_retries(self, record: JobRecord, reason: str | None) -> None:
        asked = RetryAsked(job=record.job, epoch=record.epoch, reason=reason, run=record.run, at_ms=now_ms())
        await self._tell_in_ranges(range(self._log.partitions(FRONTIER)), asked)

    async def _tell_release(self, record: JobRecord, pattern: str) -> None:
        """To the partition of its host."""
        key = _key_of(pattern)
        partition = partition_of(key, self._log.partitions(FRONTIER))
        fact = PatternReleased(
            job=record.job, key=key, pattern=pattern, epoch=record.epoch, run=record.run, at_ms=now_ms()
        )
        await self._tell_in_ranges([partition], fact)

    async def _tell_in_ranges(self, partitions: Iterable[int], fact: RetryAsked | PatternReleased) -> None:
        """So that no partition is held up for long: the log may bring other things between two ranges of URLs."""
        accepted = {report.partition: report.counters.accepted for report in self.standing(fact.job).reports}
        await self._log.send(
            [
                batch_for(partition, [msgspec.structs.replace(fact, first=first, end=end)])
                for partition in partitions
                for first, end in fingerprint_ranges(accepted.get(partition, 0), RETRIED_TOGETHER)
            ]
        )

    def _with_key(self, idempotency_key: str, owner: str | None) -> JobRecord | None:
        wanted = (idempotency_key, owner)
        return next((each for each in self.records.each() if (each.idempotency_key, each.owner) == wanted), None)


def _key_of(pattern: str) -> str:
    """The politeness key of a pattern's host.

    Raises:
        Problem: 422.
    """
    found = identify(f"http://{host_of(pattern)}/")
    if not isinstance(found, CrawlUrl):
        raise Problem(422, "Not a pattern", f"{pattern!r} is no pattern; take one from GET /v1/jobs/JOB/quarantine.")
    return found.key


def _job_id(spec: JobSpecification) -> str:
    name = spec.name or (spec.seeds[0].url.split("//")[-1].split("/")[0] if spec.seeds else "job")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "job"
    return f"{slug}-{uuid.uuid4().hex[:8]}"


def _lifted(old: JobRecord, spec: dict[str, Any], submission: str) -> JobRecord:
    """Noted as a submission, so that nothing completes before every partition has heard of the higher limit."""
    return msgspec.structs.replace(old, spec=spec, epoch=old.epoch + 1, seeding=(*old.seeding, submission))


def cursor_page(records: Sequence[JobRecord], cursor: str | None, limit: int) -> tuple[list[JobRecord], str | None]:
    """One page of jobs, newest first; the cursor is time and id of the last one shown, so it outlives that job.

    Raises:
        Problem: 400 for a cursor that is none.
    """
    left = list(records)
    if cursor is not None:
        at_ms, _, job = cursor.partition(".")
        if not is_number(at_ms) or not job:
            raise no_such_cursor(cursor)
        last = (-int(at_ms), job)
        left = [each for each in left if (-each.created_at_ms, each.job) > last]
    page = left[:limit]
    return page, f"{page[-1].created_at_ms}.{page[-1].job}" if len(left) > limit else None
