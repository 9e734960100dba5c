"""Answers Scrapy Cluster's requests from jobs: the same questions, in the same shapes, at any backlog."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from odradek.clock import now_ms
from odradek.contracts import CLOSED, JobRecord
from odradek.errors import InfrastructureAway
from odradek.urls import CrawlUrl, identify
from odradek_api.bodies import specification
from odradek_api.core.problems import Problem
from odradek_api.core.queries import events_query
from odradek_api.core.scrapy_cluster import (
    KEY_PREFIX,
    META,
    SPIDER,
    WINDOWS,
    ActionAsked,
    Asked,
    CrawlAsked,
    DomainAsked,
    StatsAsked,
    crawl_of,
    delay_s,
    domains_of,
    epoch_of,
    key_of,
    seed_of,
    specification_of,
)
from odradek_api.core.seeds import SeedLine, Verdicts
from odradek_api.parts import Parts

COUNTED_MOST = 2000
"""Pending URLs of a crawl that are counted by domain; above it only the totals are told."""
PAGE = 500
Answer = dict[str, Any]
Waiting = tuple[SeedLine, "asyncio.Future[Verdicts]"]


class ScrapyCluster:
    """What its REST service, Kafka Monitor and Redis Monitor do."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._begun = time.monotonic()
        self._jobs: dict[tuple[str, str | None], str] = {}
        self._waiting: dict[str, list[Waiting]] = {}
        self._feeding: set[str] = set()
        self._counts: Counter[str] = Counter()

    async def answer(self, asked: Asked, owner: str | None) -> Answer | None:
        """The reply; None for a crawl request, which has none.

        Raises:
            Problem: it cannot be done, in a sentence.
            InfrastructureAway: Kafka is away.
        """
        self._counts[type(asked).__name__] += 1
        if isinstance(asked, CrawlAsked):
            await self._feed(asked, owner)
            return None
        head = {"server_time": now_ms() // 1000, "uuid": asked.uuid, "appid": asked.appid}
        if isinstance(asked, StatsAsked):
            return head | {"stats": asked.stats} | await self._stats(asked.stats)
        if isinstance(asked, DomainAsked):
            return head | await self._domain(asked)
        head |= {"spiderid": asked.spiderid}
        return head | (await self._stop(asked) if asked.action == "stop" else await self._info(asked))

    def index(self) -> Answer:
        """State of the service."""
        ready = self._parts.ready() is None
        return {
            "kafka_connected": ready,
            "redis_connected": ready,
            "uptime_sec": int(time.monotonic() - self._begun),
            "my_id": self._parts.settings.instance,
            "node_health": "GREEN" if ready else "RED",
        }

    def refused(self) -> None:
        """Count a request that fits no schema."""
        self._counts["refused"] += 1

    async def _feed(self, asked: CrawlAsked, owner: str | None) -> None:
        if asked.spiderid != SPIDER:
            raise Problem(400, "No such spider", f"There is no spider {asked.spiderid!r}; use {SPIDER!r}.")
        values = specification_of(asked)
        key = key_of(values)
        job = self._jobs.get((key, owner))
        if job is None:
            record = await self._parts.gateway.submit(specification(values), idempotency_key=key, owner=owner)
            job = self._jobs[key, owner] = record.job
        try:
            verdicts = await self._added(job, seed_of(asked))
        except Problem as problem:
            if problem.status == 404:  # noqa: PLR2004  (purged: the next request makes it anew)
                del self._jobs[key, owner]
            raise
        if verdicts.rejected:
            raise Problem(400, "Not crawled", verdicts.rejected[0].sentence())

    async def _added(self, job: str, seed: SeedLine) -> Verdicts:
        """Seeds that come while others are on their way go together."""
        mine: asyncio.Future[Verdicts] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job, []).append((seed, mine))
        if job not in self._feeding:
            self._feeding.add(job)
            try:
                while waiting := self._waiting.pop(job, None):
                    await self._send(job, waiting)
            finally:
                self._feeding.discard(job)
                for _, other in self._waiting.pop(job, ()):
                    other.cancel()
        return await mine

    async def _send(self, job: str, waiting: list[Waiting]) -> None:
        try:
            numbered = [(number, seed) for number, (seed, _) in enumerate(waiting, 1)]
            async for told in self._parts.gateway.seeding.judged(job, _at_once(numbered), Verdicts()):
                for each in told:
                    verdicts = Verdicts()
                    verdicts.note(each)
                    _settle(waiting[each.line - 1][1], verdicts)
        except (Problem, InfrastructureAway) as error:
            for _, mine in waiting:
                _settle(mine, error)
        finally:
            for _, mine in waiting:
                mine.cancel()

    def _records(self, asked: ActionAsked) -> list[JobRecord]:
        """Jobs of a crawl, or of all crawls of an application."""
        wanted = {name: value for name, value in crawl_of(asked).items() if value is not None}
        return [
            record
            for record in self._parts.gateway.records.each()
            if (record.idempotency_key or "").startswith(KEY_PREFIX) and wanted.items() <= _crawl(record).items()
        ]

    async def _stop(self, asked: ActionAsked) -> Answer:
        if asked.crawlid is None:
            raise Problem(400, "Which crawl?", "A stop request names its crawlid.")
        purged = 0
        for record in self._records(asked):
            if record.wanted not in CLOSED:
                purged += self._parts.gateway.standing(record.job).counters.pending
                await self._parts.gateway.want(record.job, "cancelled")
        return {"action": "stop", "crawlid": asked.crawlid, "total_purged": purged}

    async def _info(self, asked: ActionAsked) -> Answer:
        records = self._records(asked)
        if asked.crawlid is not None:
            told = await self._crawl_info(records)
            distinct = told.pop("distinct_domains")
            return {"crawlid": asked.crawlid, "total_pending": told.pop("total"), "total_domains": distinct} | told
        by_crawl: dict[str, list[JobRecord]] = {}
        for record in records:
            by_crawl.setdefault(_crawl(record)["crawlid"], []).append(record)
        crawls = {name: await self._crawl_info(mine) for name, mine in by_crawl.items()}
        open_crawls = {name: told for name, told in crawls.items() if told["total"]}
        return {
            "total_pending": sum(told["total"] for told in open_crawls.values()),
            "total_domains": sum(told["distinct_domains"] for told in open_crawls.values()),
            "total_crawlids": len(open_crawls),
            "crawlids": open_crawls,
        }

    async def _crawl_info(self, records: Iterable[JobRecord]) -> Answer:
        rows: list[tuple[str, int]] = []
        total = hosts = 0
        told: Answer = {}
        for record in records:
            standing = self._parts.gateway.standing(record.job)
            pending = standing.counters.pending
            total += pending
            hosts += sum(report.hosts_open for report in standing.reports)
            if record.spec.get("expires") is not None:
                told["expires"] = epoch_of(record.spec["expires"])
            if pending > 0 and total <= COUNTED_MOST:
                rows += await self._pending(record)
        domains = domains_of(rows) if total <= COUNTED_MOST else {}
        return told | {"total": total, "distinct_domains": len(domains) or hosts, "domains": domains}

    async def _pending(self, record: JobRecord) -> list[tuple[str, int]]:
        rows: list[tuple[str, int]] = []
        cursor: str | None = None
        while len(rows) < COUNTED_MOST:
            found = await self._parts.inquiry.urls(record, "pending", None, cursor, PAGE)
            rows += [(_domain(row["url"]), int(row["priority"])) for row in found["data"]]
            cursor = found["next_cursor"]
            if cursor is None:
                break
        return rows

    async def _domain(self, asked: DomainAsked) -> Answer:
        pace = delay_s(asked) if asked.action == "domain-update" else None
        blocked = asked.action == "blacklist-update" or (asked.action == "domain-update" and pace is None)
        await self._parts.hosts.change(
            asked.domain, delay_s=pace, concurrency=None, blocked=blocked, clear_back_off=False
        )
        return {"action": asked.action, "domain": asked.domain}

    async def _stats(self, wanted: str) -> Answer:
        if wanted == "all":
            names = ("kafka-monitor", "redis-monitor", "crawler", "rest")
            return {name: await self._stats(name) for name in names}
        if wanted in ("kafka-monitor", "redis-monitor", "rest"):
            return self._monitor(wanted)
        found: Answer = {}
        if wanted in ("queue", "crawler"):
            queues = self._queues()
            found |= {"queues": queues} | ({"queue": queues} if wanted == "crawler" else {})
        if wanted in ("spider", "machine", "crawler"):
            codes = await self._codes()
        if wanted in ("spider", "crawler"):
            spider = {"unique_spider_count": 1, "total_spider_count": 1, SPIDER: {"count": 1} | codes}
            found["spiders"] = spider
        if wanted in ("machine", "crawler"):
            found["machines"] = {"count": 1, "odradek": codes}
        return found

    def _monitor(self, name: str) -> Answer:
        nodes = {"nodes": {socket.gethostname(): [self._parts.settings.instance]}}
        if name == "rest":
            return nodes
        kinds = {
            "kafka-monitor": {
                "ScraperHandler": "CrawlAsked", "ActionHandler": "ActionAsked", "StatsHandler": "StatsAsked",
                "ZookeeperHandler": "DomainAsked",
            },
            "redis-monitor": {
                "InfoMonitor": "ActionAsked", "StatsMonitor": "StatsAsked", "ZookeeperMonitor": "DomainAsked",
            },
        }[name]  # fmt: skip
        counts = {plugin: self._counts[kind] for plugin, kind in kinds.items()}
        return nodes | {
            "total": {"lifetime": sum(counts.values())},
            "fail": {"lifetime": self._counts["refused"]} if name == "kafka-monitor" else {},
            "plugins": {plugin: {"lifetime": count} for plugin, count in counts.items()},
        }

    def _queues(self) -> Answer:
        """Backlog of every job, whoever submitted it; hosts by the pages of their backlog."""
        backlog = hosts = 0
        for record in self._parts.gateway.records.each():
            if self._parts.gateway.state(record) in ("running", "paused"):
                standing = self._parts.gateway.standing(record.job)
                backlog += standing.counters.pending
                hosts += sum(report.hosts_open for report in standing.reports)
        return {
            f"queue_{SPIDER}": {"spider_backlog": backlog, "num_domains": hosts, "domains": []},
            "total_backlog": backlog,
        }

    async def _codes(self) -> dict[str, dict[str, int]]:
        """Fetches by HTTP status and window, from the crawl events."""
        found: dict[str, dict[str, int]] = {}
        for window in (*WINDOWS, None):
            query = events_query(now_ms(), action="fetch", since=None if window is None else f"{window}s")
            facets = await asyncio.to_thread(self._parts.results.facets, query)
            for each in facets["status"]:
                name = "lifetime" if window is None else str(window)
                found.setdefault(str(each["value"]), {})[name] = each["count"]
        return found


def _settle(mine: "asyncio.Future[Verdicts]", outcome: Verdicts | Exception) -> None:
    if mine.done():
        return
    if isinstance(outcome, Verdicts):
        mine.set_result(outcome)
    else:
        mine.set_exception(outcome)


async def _at_once(numbered: list[tuple[int, SeedLine]]) -> AsyncIterator[list[tuple[int, SeedLine]]]:
    yield numbered


def _crawl(record: JobRecord) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (record.spec.get("meta") or {}).get(META) or {}
    return found


def _domain(url: str) -> str:
    found = identify(url)
    return found.key if isinstance(found, CrawlUrl) else url
