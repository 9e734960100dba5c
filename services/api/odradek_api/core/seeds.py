"""Seeds in and verdicts out: each line becomes a fact for the frontier, or a reason why not."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from odradek.addresses import host_refusal
from odradek.contracts import Discovered, JobRecord
from odradek.kafka.records import ToFrontier
from odradek.scope import Scope
from odradek.specification import JobSpecification
from odradek.urls import identify

REJECTIONS_SHOWN = 1000
EXPLANATIONS = {
    "scheme": "only http and https are crawled",
    "malformed": "this is not a URL, or it carries user:password",
    "too_long": "longer than 2,083 characters",
    "private_address": "this is a private network; allow it with --allow-private-networks or "
    "ODRADEK_ALLOW_PRIVATE_NETWORKS=1",
    "scope": "outside the job's allowed_domains",
    "excluded": "matches scope.exclude",
}


class SeedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seed as it was submitted, not yet judged."""

    url: str
    priority: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    depth: Annotated[int, msgspec.Meta(ge=0)] = 0
    meta: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A seed that was not taken; lines count from 1."""

    line: int
    url: str
    reason: str

    def sentence(self) -> str:
        """For a person."""
        return f"{self.url}: {EXPLANATIONS.get(self.reason, self.reason)}"


@dataclass(slots=True)
class Verdicts:
    """What became of a submission."""

    received: int = 0
    """Seeds taken."""
    rejected_total: int = 0
    rejected: list[Rejection] = field(default_factory=list)
    """The first 1,000."""

    def refuse(self, rejection: Rejection) -> None:
        """Count a rejection, and keep it while there is room."""
        self.rejected_total += 1
        if len(self.rejected) < REJECTIONS_SHOWN:
            self.rejected.append(rejection)

    def answer(self) -> dict[str, Any]:
        """The body of a 202."""
        shown = [{"line": each.line, "url": each.url, "reason": each.reason} for each in self.rejected]
        return {"received": self.received, "rejected": shown, "rejected_total": self.rejected_total}


class SeedJudge:
    """Judges the seeds of one job as the rest of the crawl would."""

    def __init__(self, record: JobRecord, *, allow_private: bool) -> None:
        self._record = record
        self._spec = JobSpecification.from_wire(record.spec)
        self._rules = self._spec.scope.url_rules
        self._scope = Scope(self._spec)
        self._allow_private = allow_private

    def judge(self, seed: SeedLine) -> ToFrontier | str:
        """The fact for the frontier, or the reason of the refusal."""
        fetch = self._spec.fetch
        found = identify(
            seed.url.strip(), self._rules, method=fetch.method, body=fetch.body.encode() if fetch.body else None
        )
        if isinstance(found, str):
            return found
        if not self._allow_private and host_refusal(found.host):
            return "private_address"
        site = self._scope.site(found)
        refusal = self._scope.refusal(found, depth=seed.depth, site=site, seed=True)
        if refusal is not None:
            return refusal
        fact = Discovered(
            job=self._record.job,
            run=self._record.run,
            url=found.url,
            fp=found.fp,
            key=found.key,
            depth=seed.depth,
            priority=self._spec.priority if seed.priority is None else seed.priority,
            seed=True,
            site=site,
            meta=seed.meta,
        )
        return ToFrontier(found.key, fact)

    def judge_all(self, seeds: Iterable[tuple[int, SeedLine | str]], verdicts: Verdicts) -> list[ToFrontier]:
        """Facts of those taken; the others are counted. A str in place of a seed is a line that is none."""
        facts = []
        for line, seed in seeds:
            judged = "malformed" if isinstance(seed, str) else self.judge(seed)
            if isinstance(judged, str):
                verdicts.refuse(Rejection(line, seed if isinstance(seed, str) else seed.url, judged))
            else:
                verdicts.received += 1
                facts.append(judged)
        return facts


def read_lines(lines: Iterable[str], content_type: str, first_line: int = 1) -> Iterator[tuple[int, SeedLine | str]]:
    """Seeds of text (one URL a line), NDJSON or CSV (url first, or a header row) with their line numbers."""
    for number, line in enumerate(lines, first_line):
        text = line.strip().lstrip("\ufeff")
        if not text or text.startswith("#"):
            continue
        if content_type == "application/x-ndjson":
            yield number, _from_json(text)
        elif content_type == "text/csv":
            row = next(csv.reader(io.StringIO(text)), [])
            if row and row[0].strip().lower() != "url":
                yield number, SeedLine(url=row[0].strip())
        else:
            yield number, SeedLine(url=text)


def from_values(values: list[Any]) -> Iterator[tuple[int, SeedLine | str]]:
    """Seeds of a JSON list: strings, or objects with url, priority, depth, meta."""
    for number, value in enumerate(values, 1):
        yield number, _from_value(value)


def of_specification(spec: JobSpecification) -> Iterator[tuple[int, SeedLine]]:
    """The seeds that the specification itself names; lines count from 0, as its fields do."""
    for number, seed in enumerate(spec.seeds):
        yield number, SeedLine(seed.url, seed.priority, seed.depth, seed.meta)


def _from_json(text: str) -> SeedLine | str:
    try:
        return _from_value(msgspec.json.decode(text))
    except msgspec.DecodeError:
        return text[:2083]


def _from_value(value: Any) -> SeedLine | str:
    if isinstance(value, str):
        return SeedLine(value)
    try:
        return msgspec.convert(value, SeedLine)
    except msgspec.ValidationError:
        return str(value)[:2083]
