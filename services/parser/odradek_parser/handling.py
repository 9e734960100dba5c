"""From a record of `pages` to the stages that go out: links and items first, then the outcome (rule E)."""

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER, FetchRequest, JobRecord, PageMeta, decode, encode, page_seen_key
from odradek.kafka.records import Done, Poison, Record, Send, Stage, ToFrontier
from odradek.topics import ITEMS, LOGS
from odradek_parser import metrics
from odradek_parser.core.facts import discovered, page_seen, parse_event, parsed, poisoned, sitemap_found
from odradek_parser.core.forwarded import Forwarded, Known
from odradek_parser.core.parsing import Reader, Reading
from odradek_parser.guard import Guard, NoGuard, guarded
from odradek_parser.jobs import Readers, Unreadable
from odradek_parser.outgoing import record_sends

JobOf = Callable[[FetchRequest], Awaitable[JobRecord | None]]


class Handler:
    """What becomes of pages, in the order in which they lie in their partitions."""

    def __init__(
        self,
        job_of: JobOf,
        readers: Readers,
        forwarded: Forwarded | None = None,
        clock: Callable[[], int] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._job_of = job_of
        self._readers = readers
        self._forwarded = Forwarded() if forwarded is None else forwarded
        self._clock = clock or now_ms
        self._guard: Guard = guard or NoGuard()

    async def handle(self, records: Sequence[Record]) -> list[Done | Poison]:
        """Handle a batch. Nothing about a page raises; a job that is not known yet does (InfrastructureAway)."""
        crawls: dict[tuple[str, int], Known] = {}
        pages = [await self._prepare(record) for record in records]
        try:
            return [
                found if isinstance(found, Poison) else self._page(record, *found, crawls)
                for record, found in zip(records, pages, strict=True)
            ]
        finally:
            self._guard.rest()

    async def _prepare(self, record: Record) -> "tuple[PageMeta, JobRecord, Reader] | Poison":
        try:
            meta = decode(PageMeta, record.header(PAGE_HEADER) or b"")
        except msgspec.DecodeError as error:
            return Poison(record, "malformed", f"the header page is not the metadata of a page: {error}")
        job = await self._job_of(meta.request)
        if job is None:
            return self._poison(record, meta, f"there is no job {meta.request.job}")
        reader = self._readers.reader(job)
        if isinstance(reader, Unreadable):
            return self._poison(record, meta, reader.error)
        return meta, job, reader

    def _page(
        self, record: Record, meta: PageMeta, job: JobRecord, reader: Reader, crawls: dict[tuple[str, int], Known]
    ) -> Done | Poison:
        request = meta.request
        crawl = (request.job, request.run)
        known = crawls.get(crawl)
        if known is None:
            known = crawls[crawl] = self._forwarded.of(*crawl)
        if request.kind == "page":
            known.on_their_way.add(request.fp)
        began_ns = time.perf_counter_ns()

        def read() -> tuple[Reading, Done]:
            reading = reader.read(meta, record.value, known)
            return reading, self._done(record, meta, (job, reader), reading, known, began_ns)

        found = guarded(self._guard, record, request.url, read)
        if isinstance(found, str):
            return self._poison(record, meta, found)
        reading, done = found
        known.on_their_way.update(target.url.fp for target in reading.targets)
        return done

    def _done(
        self,
        record: Record,
        meta: PageMeta,
        how: tuple[JobRecord, Reader],
        reading: Reading,
        known: Known,
        began_ns: int,
    ) -> Done:
        request, now = meta.request, self._clock()
        job, reader = how
        made = record_sends(record, meta, job, reading, now)
        sends, items, malformed = made.sends, made.items, made.malformed
        took_ns = time.perf_counter_ns() - began_ns
        if meta.outcome == "fetched":
            event = parse_event(meta, reading, now_ms=now, items=items, malformed=malformed,
                                job_meta=job.spec.get("meta"), took_ns=took_ns)  # fmt: skip
            sends.append(Send(LOGS, request.job + request.fp, encode(event)))
        seen = None if reader.rules is None else page_seen(meta, reading.url)
        if seen is not None:
            sends.append(Send(ITEMS, page_seen_key(request.job, request.fp), encode(seen)))
        facts = tuple(
            ToFrontier(target.url.key, discovered(request, target, reading.url)) for target in reading.targets
        ) + tuple(ToFrontier(url.key, sitemap_found(request, url, reading.url)) for url in reading.sitemaps)
        fps = [target.url.fp for target in reading.targets]
        if request.kind == "page":
            fps.append(request.fp)
        first = Stage(sends=tuple(sends), facts=facts, acknowledged=lambda: known.acknowledged(fps))
        _count(meta, reading, items, malformed, took_ns)
        outcome = parsed(meta, reading, items=items, malformed=malformed, now_ms=now, rules=reader.rules)
        return Done(record, (first, Stage(facts=(ToFrontier(request.key, outcome),))))

    def _poison(self, record: Record, meta: PageMeta, error: str) -> Poison:
        """A page that cannot be read: its URL fails, the message goes to the dead letters."""
        request, now = meta.request, self._clock()
        metrics.POISON.inc()
        event = parse_event(meta, None, now_ms=now, error=error)
        said = Stage(sends=(Send(LOGS, request.job + request.fp, encode(event)),))
        ended = Stage(facts=(ToFrontier(request.key, poisoned(meta, now)),))
        return Poison(record, "poison", error, (said, ended))


def _count(meta: PageMeta, reading: Reading, items: int, malformed: int, took_ns: int) -> None:
    metrics.PAGES.labels(meta.outcome).inc()
    metrics.SECONDS.observe(took_ns / 1e9)
    metrics.FORWARDED.inc(len(reading.targets))
    metrics.DUPLICATE.inc(reading.sifted.duplicates)
    if reading.sifted.refused:
        metrics.REFUSED.inc(sum(reading.sifted.refused.values()))
    metrics.ITEMS.inc(items)
    if malformed:
        metrics.MALFORMED.inc(malformed)
