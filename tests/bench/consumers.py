"""Every consumer of every topic with what it needs in memory, ready to be given one mangled message."""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.bench.mangling import altered, changed, golden, mangled
from tests.component.indexer.fakes import KnownJobs as KnownRulesOfJobs
from tests.component.indexer.fakes import MemoryCollection, MemorySearch, an_event, an_item
from tests.unit.scheduler.harness import Crawl, a_job, a_link

from odradek.contracts import (
    OUTCOMES,
    PAGE_HEADER,
    Batch,
    Fact,
    Fetched,
    FetchRequest,
    HostReport,
    JobRecord,
    PageMeta,
    Parsed,
    Question,
    RobotsFetched,
    WebhookDelivery,
    decode,
    encode,
)
from odradek.kafka.records import Done, Poison, Record
from odradek.specification import JobSpecification
from odradek.stores import dead_letter_document
from odradek.testing.records import JOB, NOW_MS, a_page, a_request
from odradek.topics import DEFAULT_PREFIX, FRONTIER, ITEMS, LOGS, PAGES, SCHEDULED
from odradek.urls import CrawlUrl
from odradek_api.service import parse_progress
from odradek_fetcher.core.answers import Answer
from odradek_fetcher.core.facts import page_meta
from odradek_fetcher.core.pace import Pace
from odradek_fetcher.core.verdicts import Verdict
from odradek_fetcher.fetching import Result
from odradek_fetcher.jobs import Jobs
from odradek_fetcher.pacing import Gate
from odradek_fetcher.service import Handler as FetcherHandler
from odradek_indexer.archiving import _job_of, _page_of
from odradek_indexer.consuming import EventRecords, ItemRecords, LetterRecords
from odradek_indexer.core.cap import EventCap
from odradek_indexer.core.job_rules import job_rules
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore
from odradek_indexer.knowing import KnownRules
from odradek_indexer.logs import EventIndex
from odradek_parser.handling import Handler as ParserHandler
from odradek_parser.jobs import Readers

HTML = b"<!doctype html><title>A page</title><a href=/next>next</a><article class=product data-sku=1><b>B</b></article>"
SPEC = {"extract": [{"type": "book", "each": "article", "fields": {"name": {"css": "b"}}}], "meta": {"team": "x"}}
FACTS = [kind.__name__ for kind in Fact.__args__]
STALE = 200
"""Batches after which a frontier begins anew."""


def a_record(topic: str, value: bytes | None, **changes: Any) -> Record:
    fields: dict[str, Any] = {"partition": 0, "offset": 1, "key": b"k", "timestamp_ms": NOW_MS} | changes
    return Record(topic=DEFAULT_PREFIX + topic, value=value, **fields)


def judged(result: Done | Poison, request: FetchRequest | None) -> str:
    """The law of a record that asks for a URL: whoever gives it up says so, and what is sent can be read."""
    facts = [each.fact for stage in result.stages for each in stage.facts]
    for fact in facts:
        assert decode(Batch, encode(Batch(facts=(fact,)))).facts == (fact,)
    if isinstance(result, Poison):
        ended = [fact for fact in facts if isinstance(fact, Parsed)]
        assert (request is None) == (not ended), f"a poisoned request left {ended}"
        assert all((each.outcome, each.retry_in_ms) == ("failed", None) for each in ended)
        return "poison"
    assert request is not None, "what cannot be decoded was done"
    return "done"


def decoded(kind: Any, value: bytes) -> Any:
    """The message, or None."""
    try:
        return decode(kind, value)
    except ValueError:
        return None


class FetcherOfScheduled:
    """Without a network: every fetch gives a page."""

    def __init__(self) -> None:
        self._handler = FetcherHandler(_FetcherJobs(), _NoNetwork(), Gate(Pace(4), 10**9), _Member())  # type: ignore[arg-type]  # fakes

    async def __call__(self, rng: random.Random) -> str:
        samples = [*golden("FetchRequest"), encode(a_request(lease_until_ms=0))]
        value = mangled(rng, rng.choice(samples))
        request = decoded(FetchRequest, value)
        return judged(await self._handler.handle(a_record(SCHEDULED, value)), request)


class _FetcherJobs(Jobs):
    """One job."""

    def __init__(self) -> None:
        self._environ, self._plans = {}, {}
        from odradek_fetcher.core.plans import plan  # noqa: PLC0415  (only here)

        self._user_agent = "Odradek/0.1"
        self._bare = plan(JobSpecification(), user_agent="Odradek/0.1", environ={})

    async def record(self, request: FetchRequest) -> JobRecord | None:
        return JobRecord(job=JOB, spec=SPEC) if request.job == JOB else None


class _NoNetwork:
    async def carry_out(self, request: FetchRequest, plan: Any, url: CrawlUrl) -> Result:
        answer = Answer(url=url.url, status=200)
        verdict = Verdict(outcome="fetched", reason=None, error=None)
        page = page_meta(request, plan, answer, verdict, now_ms=NOW_MS, delays_s=(5.0,), body_digest=None)
        return Result(page, answer, HTML)


class _Member:
    """Nobody else is in its group."""

    async def begins(self, _record: Record) -> bool:
        return True

    async def during(self, _record: Record, work: Awaitable[Result]) -> Result:
        return await work


class ParserOfPages:
    def __init__(self) -> None:
        self._handler = ParserHandler(self._job, Readers(product="odradek", plugins=()), clock=lambda: NOW_MS)

    @staticmethod
    async def _job(request: FetchRequest) -> JobRecord | None:
        return JobRecord(job=JOB, spec=SPEC) if request.job == JOB else None

    async def __call__(self, rng: random.Random) -> str:
        samples = [*golden("PageMeta"), encode(a_page()), encode(a_page(status=301, location="/x"))]
        meta = mangled(rng, rng.choice(samples))
        body = rng.choice((HTML, b"", None, rng.randbytes(300), mangled(rng, golden("Item")[0])))
        page = decoded(PageMeta, meta)
        (result,) = await self._handler.handle([a_record(PAGES, body, headers=((PAGE_HEADER, meta),))])
        outcome = judged(result, None if page is None else page.request)
        for stage in result.stages:
            for send in stage.sends:
                assert send.value is None or len(send.value) < 20_000_000
        return outcome


class IndexerOfItems:
    def __init__(self) -> None:
        collection: Any = MemoryCollection()
        spec = {"extract": [{"type": "book", "fields": {"price": {"css": "b", "type": "decimal"}}}]}
        rules = KnownRules(KnownRulesOfJobs(**{JOB: spec}), patience_s=0.0)
        self._index = ItemRecords(lambda _: ItemStore(collection), rules)

    async def __call__(self, rng: random.Random) -> str:
        value = mangled(rng, rng.choice([*golden("Item"), encode(an_item())]))
        return await _of_batch(self._index, [a_record(ITEMS, value), a_record(ITEMS, encode(an_item("2")), offset=2)])


class IndexerOfLogs:
    def __init__(self) -> None:
        self._index = EventRecords(EventIndex(MemorySearch().engine, retention_days=30, cap=EventCap(0)))

    async def __call__(self, rng: random.Random) -> str:
        value = mangled(rng, rng.choice([*golden("LogEvent"), encode(an_event())]))
        return await _of_batch(self._index, [a_record(LOGS, value), a_record(LOGS, encode(an_event("2")), offset=2)])


async def _of_batch(index: Callable[[Sequence[Record]], Awaitable[Sequence[Any]]], records: list[Record]) -> str:
    """One mangled record and a sound one behind it, which must not suffer."""
    first, sound = await index(records)
    assert isinstance(sound, Done), "the sound record behind it became poison"
    return "poison" if isinstance(first, Poison) else "done"


class IndexerOfDeadLetters:
    def __init__(self) -> None:
        collection: Any = MemoryCollection()
        self._index = LetterRecords(DeadLetterStore(collection))

    async def __call__(self, rng: random.Random) -> str:
        names = (
            "reason",
            "error",
            "service",
            "source_topic",
            "source_partition",
            "source_offset",
            "at_ms",
            "job",
            "url",
        )
        words = [(name, _word(rng)) for name in names if rng.random() < 0.8]
        page = [(PAGE_HEADER, mangled(rng, golden("PageMeta")[0]))] if rng.random() < 0.3 else []
        record = a_record("dead-letters", mangled(rng, golden("FetchRequest")[0]), headers=(*words, *page),
                          key=rng.choice((None, b"", b"a-0-1", rng.randbytes(20))))  # fmt: skip
        assert dead_letter_document(record)["_id"]
        (result,) = await self._index([record])
        assert isinstance(result, Done)
        return "done"


def _word(rng: random.Random) -> bytes:
    return rng.choice((b"", b"7", b"-1", b"9" * 30, b"poison", b"\xff\xfe", "٣".encode(), b"odradek.logs", b"x" * 5000))


class IndexerOfPages:
    async def __call__(self, rng: random.Random) -> str:
        record = a_record(PAGES, HTML, headers=((PAGE_HEADER, mangled(rng, golden("PageMeta")[0])),))
        _page_of(record)
        return "poison" if _job_of(record) is None else "done"


class SchedulerOfFrontier:
    """One frontier that takes in whatever comes; its ledgers must add up after each batch, also after a restart."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._crawl = Crawl()
        self._crawl.fold(a_job(JOB), *(a_link(str(number), job=JOB) for number in range(5)))

    async def __call__(self, rng: random.Random) -> str:
        if self._crawl.offset > STALE:
            self._begin()
        crawl = self._crawl
        value = self._batch(rng)
        batch = decoded(Batch, value)
        if batch is None:
            crawl.offset += 1
            return "poison"
        crawl.fold(*batch.facts)
        crawl.after(s=rng.choice((0, 1, 60)))
        sent = crawl.dispatch(50)
        for request in sent:
            assert decode(FetchRequest, encode(request)) == request
        for request in sent[: rng.randrange(len(sent) + 1)]:
            crawl.finish(request)
        self._balances()
        if rng.random() < 0.1:
            crawl.restart()
            self._balances()
        for report in (*crawl.core.progress(crawl.now_ms), *crawl.core.host_reports(crawl.now_ms)):
            encode(report)
        return "done"

    def _batch(self, rng: random.Random) -> bytes:
        facts = [self._fact(rng) for _ in range(rng.choice((1, 1, 3)))]
        batch = b'{"facts":[' + b",".join(facts) + b"]}"
        return batch if rng.random() < 0.9 else mangled(rng, batch)

    def _fact(self, rng: random.Random) -> bytes:
        kind = rng.choice(FACTS)
        sound: dict[str, list[Any]] = {
            "Discovered": [a_link("1", job=JOB), a_link(f"n{rng.randrange(99)}", job=JOB)],
            "Parsed": [Parsed(job=JOB, fp=str(rng.randrange(5)), key="a.example", outcome=rng.choice(OUTCOMES))],
            "Fetched": [Fetched(job=JOB, fp=str(rng.randrange(5)), key="a.example", status=200)],
            "RobotsFetched": [RobotsFetched(key="a.example", origin="https://a.example", status=200, text="x" * 50)],
            "JobChanged": [a_job(JOB, version=rng.randrange(5))],
        }
        message = encode(rng.choice(sound[kind])) if kind in sound and rng.random() < 0.7 else self._golden(rng, kind)
        return message if rng.random() < 0.3 else altered(rng, message)

    @staticmethod
    def _golden(rng: random.Random, kind: str) -> bytes:
        sample = rng.choice(golden(kind))
        return sample.replace(b'"a job"', f'"{JOB}"'.encode()) if rng.random() < 0.7 else sample

    def _balances(self) -> None:
        for job in self._crawl.core.jobs():
            ledger = self._crawl.ledger(job)
            assert ledger.accepted == ledger.pending + sum(getattr(ledger, name) for name in OUTCOMES), job
            assert ledger.links_found == ledger.accepted + ledger.duplicates + ledger.refused, job


class SchedulerOfQuestions:
    def __init__(self) -> None:
        self._crawl = Crawl()
        self._crawl.fold(a_job(JOB), *(a_link(str(number), job=JOB) for number in range(5)))

    async def __call__(self, rng: random.Random) -> str:
        sample = rng.choice(golden("Question")).replace(b'"a job"', f'"{JOB}"'.encode())
        question = decoded(Question, mangled(rng, sample))
        if question is None:
            return "poison"
        encode(self._crawl.core.answer(question, NOW_MS))
        return "done"


class EveryoneOfJobs:
    """Whoever keeps the jobs in a view: what the view refuses must be a ValueError, what it takes must be of use."""

    def __init__(self) -> None:
        self._jobs = _FetcherJobs()
        self._readers = Readers(product="odradek", plugins=())

    async def __call__(self, rng: random.Random) -> str:
        spec: Any = JobSpecification.parse({"seeds": ["https://a.example/"], **SPEC}).to_wire()
        for _ in range(rng.randrange(3)):
            spec = changed(rng, spec)
        sound = encode(JobRecord(job=JOB, spec=spec if isinstance(spec, dict) else {}, version=rng.randrange(99)))
        value = mangled(rng, rng.choice([*golden("JobRecord"), sound]))
        try:
            record = decode(JobRecord, value)
            job_rules(record)
        except ValueError:
            return "poison"
        self._jobs.plan(record, "page")
        self._jobs.wanted(record, NOW_MS)
        self._readers.reader(record)
        return "done"


class GatewayOfViews:
    """Views of the gateway: nothing but a ValueError leaves their parsers."""

    async def __call__(self, rng: random.Random) -> str:
        kind = rng.choice(("Progress", "Reached", "HostReport", "WebhookDelivery"))
        value = mangled(rng, rng.choice(golden(kind)))
        try:
            if kind in ("Progress", "Reached"):
                parse_progress("j:1" if kind == "Progress" else "j", value)
            else:
                decode(HostReport if kind == "HostReport" else WebhookDelivery, value)
        except ValueError:
            return "poison"
        return "done"


CONSUMERS: dict[str, Callable[[], Any]] = {
    f"fetcher of {SCHEDULED}": FetcherOfScheduled,
    f"parser of {PAGES}": ParserOfPages,
    f"indexer of {ITEMS}": IndexerOfItems,
    f"indexer of {LOGS}": IndexerOfLogs,
    "indexer of dead-letters": IndexerOfDeadLetters,
    f"indexer of {PAGES}": IndexerOfPages,
    f"scheduler of {FRONTIER}": SchedulerOfFrontier,
    "scheduler of questions": SchedulerOfQuestions,
    "everyone of jobs": EveryoneOfJobs,
    "gateway of progress, hosts, webhooks": GatewayOfViews,
}
"""By name; each is made anew after a case that broke a law."""
