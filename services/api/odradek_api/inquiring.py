"""What to ask the partitions, and what their answers make together."""

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from odradek.addresses import host_refusal
from odradek.clock import now_ms
from odradek.contracts import JobRecord, Question, Recount
from odradek.scope import Scope
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.specification.redaction import without_credentials
from odradek.topics import FRONTIER
from odradek.urls import CrawlUrl, identify, partition_of
from odradek_api.core.cursors import is_number
from odradek_api.core.problems import no_such_cursor, silent
from odradek_api.core.seeds import EXPLANATIONS
from odradek_api.core.standing import Standing, with_recounts
from odradek_api.ports import Answers, Document, Log

PATIENCE_S = 2.0
COUNTING = 5
"""So many times the patience for a count, which goes through every URL."""
LOOK_EVERY_S = 0.05


class Inquiry:
    """Questions about a job that only the owners of its partitions can answer."""

    def __init__(self, settings: Settings, log: Log, answers: Answers, patience_s: float = PATIENCE_S) -> None:
        self._settings, self._log, self._answers = settings, log, answers
        self._patience_s = patience_s

    async def explain(self, record: JobRecord, url: str) -> Document:
        """Why a URL was or would be fetched, skipped or refused; what the gateway itself knows comes without a wait."""
        spec = JobSpecification.from_wire(record.spec)
        body = spec.fetch.body.encode() if spec.fetch.body else None
        found = identify(url, spec.scope.url_rules, method=spec.fetch.method, body=body)
        if isinstance(found, str):
            return _explained(url, None, found) | {"answered": True}
        partition = partition_of(found.key, self._log.partitions(FRONTIER))
        question = _question(record, "explain", url=found.url, fp=found.fp, key=found.key)
        answered = await self._answers.ask({partition: question})
        refusal = self._refusal(spec, found)
        return (
            _explained(url, found, refusal)
            | {"partition": partition, "answered": partition in answered}
            | {"frontier": answered.get(partition)}
        )

    def _refusal(self, spec: JobSpecification, url: CrawlUrl) -> str | None:
        """As for a link at depth 0; where the specification names neither domains nor seeds, of a seed like it."""
        if not self._settings.allow_private_networks and host_refusal(url.host):
            return "private_address"
        scope = Scope(spec)
        free = not spec.seeds and spec.scope.allowed_domains is None
        return scope.refusal(url, depth=0, site=scope.site(url) if free else None)

    async def urls(
        self, record: JobRecord, state: str | None, reason: str | None, cursor: str | None, limit: int
    ) -> Document:
        """A page of a job's URLs, partition after partition.

        A partition looks at some thousand URLs for one question; it is asked on while there is time, so among millions
        a page may be short, or empty, and have a cursor all the same.

        Raises:
            Problem: 400 for a cursor that is none; 503 when nobody answers.
        """
        partitions = self._log.partitions(FRONTIER)
        first, after = _place(cursor, partitions)
        data: list[Document] = []
        until = time.monotonic() + self._patience_s
        partition = first
        while partition < partitions:
            question = _question(record, "urls", state=state, reason=reason, limit=limit - len(data), after=after)
            found, after = await self._urls_of(partition, question)
            data += found
            if after is None:
                partition += 1
            late = after is not None and time.monotonic() > until
            if (late or len(data) >= limit) and partition < partitions:
                return {"data": data, "next_cursor": f"{partition}.{after or ''}"}
        return {"data": data, "next_cursor": None}

    async def _urls_of(self, partition: int, question: Question) -> tuple[list[Document], str | None]:
        """What one partition has to show, and after which fingerprint there may be more."""
        answered = await self._answers.ask({partition: question})
        if partition not in answered:
            raise silent(f"for partition {partition}")
        body = answered[partition]
        if "urls" not in body:
            raise silent(f"for partition {partition} ({body.get('error', 'it is being taken over')})")
        return [each | {"partition": partition} for each in body["urls"]], body.get("after")

    async def quarantine(self, record: JobRecord, limit: int) -> Document:
        """Patterns of URLs that are held back, or were, over all partitions.

        Raises:
            Problem: 503 when nobody answers.
        """
        partitions = range(self._log.partitions(FRONTIER))
        questions = {each: _question(record, "quarantine", limit=limit) for each in partitions}
        answered = await self._answers.ask(questions)
        bodies = {part: body for part, body in answered.items() if "patterns" in body}
        if not bodies:
            raise silent("for any partition")
        rows = [row for _, body in sorted(bodies.items()) for row in body["patterns"]]
        rows.sort(key=lambda row: -row["trapped"])
        return {
            "data": rows[:limit],
            "next_cursor": None,
            "silent": [each for each in partitions if each not in bodies],
            "more": len(rows) > limit or any(body["more"] for body in bodies.values()),
        }

    async def recounted(self, look: Callable[[], Standing]) -> Standing:
        """Where a job stands, with a count made now; waits for the reports that belong to the count.

        Raises:
            Problem: 503 when a partition does not answer, or is still being taken over.
        """
        partitions = range(self._log.partitions(FRONTIER))
        record = look().record
        counts: dict[int, Recount] = {}
        while missing := [each for each in partitions if each not in counts]:
            # One scheduler counts one partition after the other and forgets what was asked long ago: ask again.
            questions = {each: _question(record, "recount") for each in missing}
            answered = await self._answers.ask(questions, self._patience_s * COUNTING)
            found = {part: body["recount"] for part, body in answered.items() if "recount" in body}
            if not found:
                raise silent(f"for partition {', '.join(map(str, missing))}")
            counts |= {partition: msgspec.convert(count, Recount) for partition, count in found.items()}
        until = time.monotonic() + self._patience_s
        while (standing := look()) and not _reported(standing, counts) and time.monotonic() < until:  # noqa: ASYNC110  (a view sets no event)
            await asyncio.sleep(LOOK_EVERY_S)
        return with_recounts(standing, counts)


def _reported(standing: Standing, counts: dict[int, Recount]) -> bool:
    """True once every report is one made with the count, or after it."""
    return all(
        report.recount is not None and report.recount.offset >= counts[report.partition].offset
        for report in standing.reports
    )


def _question(record: JobRecord, kind: str, **fields: Any) -> Question:
    return Question(id=uuid.uuid4().hex, kind=kind, job=record.job, run=record.run, at_ms=now_ms(), **fields)


def _explained(url: str, found: CrawlUrl | None, refusal: str | None) -> Document:
    sentence = (
        "as a link it would be accepted" if refusal is None
        else f"as a link it would be refused: {EXPLANATIONS.get(refusal, refusal)}"
    )  # fmt: skip
    return {
        "url": without_credentials(url) if found is None else found.url,
        "canonical": None if found is None else found.canonical,
        "fingerprint": None if found is None else found.fp,
        "host": None if found is None else found.host,
        "key": None if found is None else found.key,
        "refusal": refusal,
        "sentence": sentence,
        "partition": None,
        "frontier": None,
    }


def _place(cursor: str | None, partitions: int) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    number, dot, after = cursor.partition(".")
    if not dot or not is_number(number) or int(number) >= partitions:
        raise no_such_cursor(cursor)
    return int(number), after or None
