"""Asking for the pages of a job to be read again, and telling how far that is."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Literal, Protocol

import msgspec

from odradek.clock import now_ms
from odradek.contracts import JobRecord, Reparse
from odradek.kafka.ends import Ends
from odradek.kafka.reparses import records_left
from odradek.settings import Settings
from odradek.topics import GROUPS, ITEMS, PAGES
from odradek_api.core.problems import Problem
from odradek_api.gateway import Gateway
from odradek_api.models import Shape

SETTLE_S = 2.0
"""From new rules in Kafka to the bounds of a reparse: by then every parser reads what comes in with the new rules."""


class ReparseStanding(Shape):
    """How far a reparse is."""

    job_id: str
    number: int
    """Counts the reparses of the job, from 1."""
    state: Literal["reading", "indexing", "done"]
    """`indexing`: every page was read, its items are on their way to the store."""
    records_total: int
    """Records of the topic `pages` to look through, those of other jobs included."""
    records_left: int
    """Of these, not yet looked at."""
    asked_at_ms: int


class PageTopic(Protocol):
    """What Kafka knows of pages and of those who read them again. Blocking: called in threads."""

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        """First and end offset of each partition of `pages`."""
        ...

    def left(self, job: str, reparse: Reparse) -> int:
        """Records that are still to be read again."""
        ...

    def item_ends(self) -> Mapping[int, int]:
        """End offset of each partition of `items`."""
        ...

    def indexed(self, ends: Mapping[int, int]) -> bool:
        """True when the indexer has passed these ends."""
        ...


class Reparsing:
    """A reparse is a number and bounds in the job's record; the parsers do the rest."""

    def __init__(self, gateway: Gateway, topic: PageTopic, settle_s: float = SETTLE_S) -> None:
        self._gateway, self._topic, self._settle_s = gateway, topic, settle_s
        self._item_ends: dict[tuple[str, int], Mapping[int, int]] = {}

    async def ask(self, job: str, spec: Mapping[str, Any] | None) -> JobRecord:
        """Read all pages of a job again that Kafka still holds; `spec` is its new specification, None: unchanged.

        The bounds are set when the rules have settled, so that each page is read with them here or as it comes in.

        Raises:
            Problem: 404.
            InfrastructureAway: Kafka does not answer; then nothing but the specification has changed.
        """
        records = self._gateway.records
        if spec is not None:
            await records.revise(job, lambda old: msgspec.structs.replace(old, spec=dict(spec)), spec=True)
        age_s = (now_ms() - records.get(job).changed_at_ms) / 1000
        await asyncio.sleep(max(0.0, self._settle_s - age_s))
        bounds = await asyncio.to_thread(self._topic.bounds)

        def asked(old: JobRecord) -> JobRecord:
            return msgspec.structs.replace(old, reparse=_next(old, _in_order(bounds)))

        return await records.revise(job, asked, told=False)

    async def standing(self, job: str) -> dict[str, Any]:
        """How far the newest reparse of a job is: reading, indexing (its items are on their way) or done.

        Raises:
            Problem: 404, also when none was asked for.
            InfrastructureAway: Kafka does not answer.
        """
        record = self._gateway.records.get(job)
        reparse = record.reparse
        if reparse is None:
            raise Problem(404, "No reparse", f"Job {job!r} was never read again; POST to this address asks for it.")
        left = await asyncio.to_thread(self._topic.left, job, reparse)
        total = sum(end - start for start, end in zip(reparse.starts, reparse.ends, strict=True))
        return {
            "job_id": job,
            "number": reparse.number,
            "state": "reading" if left else await self._after_reading(job, reparse.number),
            "records_total": total,
            "records_left": min(left, total),
            "asked_at_ms": reparse.asked_at_ms,
        }

    async def _after_reading(self, job: str, number: int) -> str:
        """All items were in Kafka when reading had ended; `done` when the indexer has passed the ends of then."""
        ends = self._item_ends.get((job, number))
        if ends is None:
            ends = self._item_ends[job, number] = await asyncio.to_thread(self._topic.item_ends)
        return "done" if await asyncio.to_thread(self._topic.indexed, ends) else "indexing"


def _in_order(bounds: Mapping[int, tuple[int, int]]) -> Sequence[tuple[int, int]]:
    return [bounds[partition] for partition in range(len(bounds))]


def _next(old: JobRecord, bounds: Sequence[tuple[int, int]]) -> Reparse:
    return Reparse(
        number=(old.reparse.number if old.reparse is not None else 0) + 1,
        starts=tuple(start for start, _ in bounds),
        ends=tuple(end for _, end in bounds),
        asked_at_ms=now_ms(),
    )


class KafkaPages:
    """`PageTopic` on Kafka; its connections live as long as a question."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        """As `PageTopic`."""
        with _ends(self._settings) as ends:
            return ends.bounds(PAGES)

    def left(self, job: str, reparse: Reparse) -> int:
        """As `PageTopic`."""
        with _ends(self._settings) as ends:
            return records_left(ends, job, reparse)

    def item_ends(self) -> Mapping[int, int]:
        """As `PageTopic`."""
        with _ends(self._settings) as ends:
            return ends.end_offsets(ITEMS)

    def indexed(self, ends: Mapping[int, int]) -> bool:
        """As `PageTopic`."""
        with _ends(self._settings) as asked:
            return asked.passed(GROUPS[ITEMS], ITEMS, dict(ends))


def _ends(settings: Settings) -> "closing[Ends]":
    return closing(Ends(settings))
