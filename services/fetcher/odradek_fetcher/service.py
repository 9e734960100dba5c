"""The fetcher as a process: requests come in from `scheduled`, pages and facts go out (rule E).

Order for each request: the page (with its crawl event) is acknowledged, then the fact that frees the host, then the
offset may be committed.
"""

import asyncio
import os
import time
from functools import partial

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER, FetchRequest, JobRecord, decode, encode
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Poison, Record, Send, Stage, ToFrontier
from odradek.kafka.runner import Runner
from odradek.kafka.tenure import Tenure
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import calm_collector, run_until_stopped
from odradek.settings import Settings
from odradek.topics import LOGS, PAGES, SCHEDULED
from odradek.urls import CrawlUrl, identify
from odradek_fetcher import metrics
from odradek_fetcher import settings as own
from odradek_fetcher.composition import fetching_for
from odradek_fetcher.core.answers import Answer
from odradek_fetcher.core.facts import SERVICE, fetch_event, fetched, given_back, page_meta, poisoned, unfetched
from odradek_fetcher.core.pace import Pace
from odradek_fetcher.core.plans import PlanProblem
from odradek_fetcher.core.verdicts import Verdict
from odradek_fetcher.fetching import Fetching, Result
from odradek_fetcher.jobs import Jobs
from odradek_fetcher.pacing import Gate, keep_pace, raise_file_limit

log = structlog.get_logger()


def main(settings: Settings) -> int:
    """Run until SIGTERM, drain, and return the exit code."""
    return run_until_stopped(partial(serve, settings))


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Fetch until `stop` is set."""
    raise_file_limit()
    jobs = Jobs(settings, os.environ)
    producer = StageProducer(settings)
    tenure = Tenure(settings.session_timeout)
    runner = Runner(settings, SERVICE, SCHEDULED, producer, own.window(settings.fetch_concurrency), tenure=tenure)
    pace = Pace(settings.fetch_concurrency)
    gate = Gate(pace, own.HELD_BYTES)
    serve_health(settings, ready=lambda: _missing(jobs, runner))
    if settings.contact_url is None:
        log.warning("no_contact_url", hint="set ODRADEK_CONTACT_URL, so that sites can reach you")
    jobs.view.start()
    pacing = asyncio.create_task(keep_pace(pace, gate))
    try:
        async with fetching_for(settings) as fetching:
            metrics.RESTING.set_function(lambda: fetching.proxies.resting(time.monotonic()))
            calm_collector()
            await runner.run_each(Handler(jobs, fetching, gate, tenure).handle, stop, settings.fetch_concurrency)
    finally:
        pacing.cancel()
        jobs.stop()
        await asyncio.to_thread(producer.close)


def _missing(jobs: Jobs, runner: Runner) -> str | None:
    if not jobs.view.ready:
        return "jobs are being read"
    if not runner.intake.assigned:
        return "no partitions are assigned yet"
    return runner.away


class Handler:
    """What becomes of one record."""

    def __init__(self, jobs: Jobs, fetching: Fetching, gate: Gate, tenure: Tenure) -> None:
        self._jobs, self._fetching, self._gate, self._tenure = jobs, fetching, gate, tenure

    async def handle(self, record: Record) -> Done | Poison:
        """Carry out the request in a record; nothing about a site or a message raises."""
        try:
            request = decode(FetchRequest, record.value or b"")
        except msgspec.DecodeError as error:
            return Poison(record, "malformed", str(error))
        url = identify(request.url)
        if not isinstance(url, CrawlUrl):
            return _poison(record, request, f"the URL cannot be fetched: {url}")
        if record.inherited and not self._late(request):
            return _given_back(record, request, url, "inherited")
        job = None if self._late(request) else await self._jobs.record(request)
        if job is not None:
            async with self._gate.open():
                return await self._in_turn(record, request, await self._jobs.record(request) or job, url)
        if self._late(request):
            metrics.UNFETCHED.labels("lease").inc()
            return Done(record)
        return _poison(record, request, f"there is no job {request.job}")

    async def _in_turn(self, record: Record, request: FetchRequest, job: JobRecord, url: CrawlUrl) -> Done:
        if not await self._tenure.begins(record):
            return Done(record)
        if self._late(request):
            metrics.UNFETCHED.labels("lease").inc()
            return Done(record)
        wanted = self._jobs.wanted(job, now_ms())
        if wanted != "running" and request.kind != "robots":  # robots.txt is for all jobs
            metrics.UNFETCHED.labels(wanted).inc()
            fact = unfetched(request, now_ms(), "paused" if wanted == "paused" else None)
            return Done(record, (Stage(facts=(ToFrontier(request.key, fact),)),))
        if self._may_outlive(request, job):
            return _given_back(record, request, url, "overdue")
        result = await self._tenure.during(record, self._fetch(request, job, url))
        if result is None:
            return _given_back(record, request, url, "abandoned")
        return self._done(record, result, job)

    @staticmethod
    def _late(request: FetchRequest) -> bool:
        """True when the lease is over: the scheduler sends the request again, with the same try (rule D)."""
        return 0 < request.lease_until_ms < now_ms()

    def _may_outlive(self, request: FetchRequest, job: JobRecord) -> bool:
        """True when a fetch that begins now may go on beyond its lease: then its host is taken for free."""
        plan = self._jobs.plan(job, request.kind)
        timeout_s = 0.0 if isinstance(plan, PlanProblem) else plan.spec.fetch.timeout
        return 0 < request.lease_until_ms < now_ms() + timeout_s * 1000

    async def _fetch(self, request: FetchRequest, job: JobRecord, url: CrawlUrl) -> Result:
        plan = self._jobs.plan(job, request.kind)
        if isinstance(plan, PlanProblem):
            verdict = Verdict(outcome="failed", reason="poison", error=str(plan), lasting=True)
            answer = Answer(url=request.url)
            page = page_meta(request, None, answer, verdict, now_ms=now_ms(), delays_s=(), body_digest=None)
            return Result(page, answer)
        return await self._fetching.carry_out(request, plan, url)

    def _done(self, record: Record, result: Result, job: JobRecord) -> Done:
        page, body = result.page, result.body
        request = page.request
        _count(result)
        meta = job.spec.get("meta")
        event = encode(fetch_event(page, meta=meta if isinstance(meta, dict) else None))
        sends = [Send(LOGS, request.job + request.fp, event)]
        if result.robots is not None:
            fact = ToFrontier(request.key, result.robots)
        else:
            sends.insert(0, Send(PAGES, request.fp, body, headers=((PAGE_HEADER, encode(page)),)))
            fact = ToFrontier(request.key, fetched(page))
        release = self._gate.hold(len(body)) if body else None
        return Done(record, (Stage(sends=tuple(sends), acknowledged=release), Stage(facts=(fact,))))


def _given_back(record: Record, request: FetchRequest, url: CrawlUrl, reason: str) -> Done:
    metrics.UNFETCHED.labels(reason).inc()
    fact = given_back(request, url, now_ms(), reason)
    return Done(record, (Stage(facts=(ToFrontier(request.key, fact),)),))


def _poison(record: Record, request: FetchRequest, error: str) -> Poison:
    fact = ToFrontier(request.key, poisoned(request, now_ms()))
    freed = ToFrontier(request.key, unfetched(request, now_ms()))
    return Poison(record, "poison", error, (Stage(facts=(freed, fact)),))


def _count(result: Result) -> None:
    page = result.page
    metrics.FETCHES.labels(page.request.kind, page.outcome, page.reason or "").inc()
    metrics.BYTES.inc(page.size_bytes)
    metrics.SECONDS.observe(page.timings.total_ms / 1000)
