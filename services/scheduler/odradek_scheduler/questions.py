"""Answers what only the owner of a partition knows: why a URL was or was not fetched, which URLs, a recount."""

import msgspec
import structlog

from odradek.contracts import Question, decode, encode
from odradek.kafka.records import Record, Send
from odradek.topics import ANSWERS
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Ownership, now_ms

log = structlog.get_logger()

PATIENCE_MS = 2000
"""Who asked has gone away by then."""


class Answerer:
    """Read-only: a question changes nothing, and one that nobody waits for any more is dropped."""

    def __init__(self, ownership: Ownership, outbox: Outbox) -> None:
        self._ownership = ownership
        self._outbox = outbox

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
        answer = owned.core.answer(question, now)
        self._outbox.send([Send(ANSWERS, question.key or question.id, encode(answer), partition=record.partition)])
