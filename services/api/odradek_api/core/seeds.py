"""Seeds in and verdicts out: each line becomes a fact for the frontier, or a reason why not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec

from odradek.addresses import host_refusal
from odradek.contracts import Discovered, JobRecord
from odradek.kafka.records import ToFrontier
from odradek.nesting import deeper_than
from odradek.scope import Scope
from odradek.specification import MAX_META_DEPTH, JobSpecification, meta_refusal
from odradek.specification.redaction import without_credentials
from odradek.urls import identify

REJECTIONS_SHOWN = 1000
URL_SHOWN = 2083
EXPLANATIONS = {
    "scheme": "only http and https are crawled",
    "malformed": "this is not a URL, or it carries user:password",
    "too_long": "longer than 2,083 characters, or its meta than 64 KiB",
    "private_address": "this is a private network; allow it with --allow-private-networks or "
    "ODRADEK_ALLOW_PRIVATE_NETWORKS=1",
    "scope": "outside the job's allowed_domains",
    "excluded": "matches scope.exclude",
}


_BREAKS = frozenset("\t\r\n")
"""A browser reads over them; in a list they are two URLs, or a column of another file."""


class SeedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seed as it was submitted, not yet judged."""

    url: str
    priority: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    depth: Annotated[int, msgspec.Meta(ge=0, le=10**6)] = 0
    meta: dict[str, Any] | None = None


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no seed, and why."""

    text: str
    reason: str = "malformed"


class Verdict(NamedTuple):
    """What became of one line; lines count from 1."""

    line: int
    url: str
    reason: str | None
    """Of the refusal; None: taken."""

    def sentence(self) -> str:
        """For a person."""
        return f"{self.url}: {EXPLANATIONS.get(self.reason or '', self.reason)}"

    def shown(self) -> dict[str, Any]:
        """A line of the streamed answer."""
        taken = {"line": self.line, "url": self.url, "verdict": "received"}
        return taken if self.reason is None else taken | {"verdict": "rejected", "reason": self.reason}


@dataclass(slots=True)
class Verdicts:
    """What became of a submission."""

    received: int = 0
    """Seeds taken."""
    rejected_total: int = 0
    rejected: list[Verdict] = field(default_factory=list)
    """The first 1,000."""

    def note(self, verdict: Verdict) -> None:
        """Count a verdict, and keep a rejection while there is room."""
        if verdict.reason is None:
            self.received += 1
            return
        self.rejected_total += 1
        if len(self.rejected) < REJECTIONS_SHOWN:
            self.rejected.append(verdict)

    def answer(self) -> dict[str, Any]:
        """The body of a 202."""
        shown = [{"line": each.line, "url": each.url, "reason": each.reason} for each in self.rejected]
        return {"received": self.received, "rejected": shown, "rejected_total": self.rejected_total}


_is_private = lru_cache(maxsize=4096)(host_refusal)


class SeedJudge:
    """Judges the seeds of one job as the rest of the crawl would."""

    def __init__(self, record: JobRecord, *, allow_private: bool) -> None:
        self._record = record
        self._spec = JobSpecification.from_wire({**record.spec, "seeds": []})
        self._rules = self._spec.scope.url_rules
        self._scope = Scope(self._spec)
        self._allow_private = allow_private

    def judge(self, seed: SeedLine) -> ToFrontier | str:
        """The fact for the frontier, or the reason of the refusal."""
        fetch, url = self._spec.fetch, seed.url.strip()
        if not url.isprintable() and not _BREAKS.isdisjoint(url):
            return "malformed"
        if seed.meta is not None and meta_refusal(seed.meta) is not None:
            return "malformed" if deeper_than(seed.meta, MAX_META_DEPTH) else "too_long"
        found = identify(url, self._rules, method=fetch.method, body=fetch.body.encode() if fetch.body else None)
        if isinstance(found, str):
            return found
        if not self._allow_private and _is_private(found.host):
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

    def judge_all(
        self, seeds: Iterable[tuple[int, SeedLine | BadLine]], verdicts: Verdicts
    ) -> tuple[list[ToFrontier], list[Verdict]]:
        """Facts of those taken, and what became of each."""
        facts: list[ToFrontier] = []
        told: list[Verdict] = []
        for line, seed in seeds:
            judged = seed.reason if isinstance(seed, BadLine) else self.judge(seed)
            url = seed.text if isinstance(seed, BadLine) else seed.url
            reason = judged if isinstance(judged, str) else None
            verdict = Verdict(line, url if reason is None else without_credentials(url[:URL_SHOWN]), reason)
            if not isinstance(judged, str):
                facts.append(judged)
            verdicts.note(verdict)
            told.append(verdict)
        return facts, told


def of_specification(spec: JobSpecification) -> Iterator[tuple[int, SeedLine]]:
    """The seeds that the specification itself names; lines count from 0, as its fields do."""
    for number, seed in enumerate(spec.seeds):
        yield number, SeedLine(seed.url, seed.priority, seed.depth, seed.meta)


def from_values(values: list[Any]) -> Iterator[tuple[int, SeedLine | BadLine]]:
    """Seeds of a JSON list: strings, or objects with url, priority, depth, meta."""
    for number, value in enumerate(values, 1):
        yield number, from_value(value)


def from_value(value: Any) -> SeedLine | BadLine:
    """A seed of JSON: a URL, or an object."""
    if isinstance(value, str):
        return SeedLine(value)
    try:
        return msgspec.convert(value, SeedLine)
    except msgspec.ValidationError:
        return BadLine(str(value)[:URL_SHOWN])
