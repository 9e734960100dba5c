"""Streams of seeds into a job: judged chunk by chunk, each acknowledged by Kafka before it is answered."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing

from odradek.contracts import JobRecord
from odradek.settings import Settings
from odradek_api.core.lines import Numbered
from odradek_api.core.receipts import Repeat, receipt_of
from odradek_api.core.seeds import SeedJudge, Verdict, Verdicts
from odradek_api.ports import Log
from odradek_api.records import Locks, Records
from odradek_api.submissions import SEEDS, Submissions, open_record

Chunks = AsyncIterator[Iterable[Numbered]]


class Seeding:
    """Takes any number of seeds in one call."""

    def __init__(self, settings: Settings, log: Log, records: Records, submissions: Submissions) -> None:
        self._settings, self._log, self._records, self._submissions = settings, log, records, submissions
        self._keys = Locks()

    async def add(self, job: str, chunks: Chunks, key: str | None = None) -> Verdicts:
        """Stream seeds into a job; a finished one is open again.

        What Kafka has of a list that came with the same idempotency key is judged again and not sent again.

        Raises:
            Problem: 404; 409 for a job that was cancelled or has expired; 422 for another list with the same key.
        """
        verdicts = Verdicts()
        async with aclosing(self.judged(job, chunks, verdicts, key)) as told:
            async for _ in told:
                pass
        return verdicts

    async def judged(
        self, job: str, chunks: Chunks, verdicts: Verdicts, key: str | None = None
    ) -> AsyncGenerator[Sequence[Verdict]]:
        """As `add`, and the verdicts of every chunk once Kafka has the seeds taken from it."""
        if key is None:
            async with aclosing(self._sent(job, chunks, verdicts)) as sent:
                async for told in sent:
                    yield told
            return
        async with self._keys.of(f"{job}\0{key}"):
            record = open_record(self._records.get(job))
            repeat = Repeat(key, receipt_of(record.receipts, key))
            told_all = self._again if repeat.done else self._resumed
            async with aclosing(told_all(record, chunks, verdicts, repeat)) as again:
                async for told in again:
                    yield told

    async def _sent(self, job: str, chunks: Chunks, verdicts: Verdicts) -> AsyncGenerator[Sequence[Verdict]]:
        with self._submissions.working(SEEDS) as submission:
            judge = self._judge(await self._submissions.begin(job, submission))
            try:
                async for chunk in chunks:
                    facts, told = judge.judge_all(chunk, verdicts)
                    await self._log.send((), facts)
                    await self._submissions.hold(job, submission)
                    yield told
            finally:
                await self._submissions.finish(job, submission, seeded=verdicts.received > 0)

    async def _resumed(
        self, record: JobRecord, chunks: Chunks, verdicts: Verdicts, repeat: Repeat
    ) -> AsyncGenerator[Sequence[Verdict]]:
        """From the first line that Kafka does not have."""
        with self._submissions.working(SEEDS) as submission:
            judge = self._judge(await self._submissions.begin(record.job, submission))
            try:
                async for chunk in chunks:
                    known, new = repeat.split(chunk)
                    _, told_before = judge.judge_all(known, verdicts)
                    facts, told = judge.judge_all(new, verdicts)
                    await self._log.send((), facts)
                    await self._submissions.hold(record.job, submission)
                    repeat.took(new)
                    yield [*told_before, *told]
                repeat.end()
            finally:
                await self._submissions.finish(
                    record.job, submission, seeded=verdicts.received > 0, receipt=repeat.receipt
                )

    async def _again(
        self, record: JobRecord, chunks: Chunks, verdicts: Verdicts, repeat: Repeat
    ) -> AsyncGenerator[Sequence[Verdict]]:
        """All of it is in Kafka: only the verdicts are told again."""
        judge = self._judge(record)
        async for chunk in chunks:
            known, _ = repeat.split(chunk)
            yield judge.judge_all(known, verdicts)[1]
        repeat.end()

    def _judge(self, record: JobRecord) -> SeedJudge:
        return SeedJudge(record, allow_private=self._settings.allow_private_networks)
