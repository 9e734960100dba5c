"""Answers what only the owner of a partition knows: why a URL was or was not fetched, which URLs, a recount."""

import asyncio

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import Answer, Question, decode, encode
from odradek.kafka.records import Record, Send
from odradek.topics import ANSWERS
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Owned, Ownership
from odradek_scheduler.recounting import recounted

log = structlog.get_logger()

PATIENCE_MS = 2000
"""Who asked has gone away by then."""


class Answerer:
    """Read-only: a question changes nothing, and one that nobody waits for any more is dropped."""

    def __init__(self, ownership: Ownership, outbox: Outbox) -> None:
        self._ownership = ownership
        self._outbox = outbox
        self._counting: set[asyncio.Task[None]] = set()

    def answer(self, record: Record) -> None:
        """Answer one question about the partition that it was sent to."""
        now = now_ms()
        try:
            question = decode(Question, record.value or b"")
        except msgspec.DecodeError as error:
            log.warning("question_refused", partition=record.partition, offset=record.offset, error=str(error))
            return
        owned = self._ownership.get(record.partition)
        if owned is None or now - (question.at_ms or record.timestamp_ms) > PATIENCE_MS:
            return
        if question.kind == "recount":
            self._counting.add(task := asyncio.create_task(self._recount(owned, question)))
            task.add_done_callback(self._counting.discard)
        else:
            self._tell(owned, question, owned.core.answer(question, now))

    async def _recount(self, owned: Owned, question: Question) -> None:
        """Counting a large partition takes seconds; the fold goes on meanwhile."""
        counted = await recounted(owned, question.job)
        self._tell(owned, question, owned.core.counted(question, counted, now_ms()))

    def _tell(self, owned: Owned, question: Question, answer: Answer) -> None:
        if owned.kept:
            key = question.key or question.id
            self._outbox.send([Send(ANSWERS, key, encode(answer), partition=owned.number)])
