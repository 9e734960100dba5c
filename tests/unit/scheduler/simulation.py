"""A simulated world for one partition: hosts with tempers, a clock that only this file moves, laws judged at each step.

Every run follows from its seed. An hour takes milliseconds, since the clock jumps to the next thing that happens.
"""

import random
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from odradek.contracts import OUTCOMES, Discovered, FetchRequest, JobChanged

from .harness import NOW_MS, Crawl, a_job, a_link

HOUR_MS = 3_600_000


@dataclass
class Site:
    """A host as the world sees it."""

    key: str
    temper: str
    """sound, slow, failing (every other answer), down (in spells), throttling (429 with or without Retry-After)."""
    asked: int = 0
    quiet_until_ms: int = 0
    """What its newest refusal has asked for."""
    out: set[tuple[str, int]] = field(default_factory=set)
    answered_ms: list[int] = field(default_factory=list)


class Rude(AssertionError):  # noqa: N818  (what a run is looked through for)
    """A law of politeness was broken."""


class Simulation:
    """`jobs`: name to (priority, links, strategy)."""

    def __init__(self, seed: int, *, delay_s: float, concurrency: int, sites: int = 6) -> None:
        self.random = random.Random(seed)
        self.crawl = Crawl()
        self.delay_ms, self.concurrency = round(delay_s * 1000), concurrency
        tempers = ("sound", "slow", "failing", "down", "throttling", "sound")
        self.sites = {
            f"h{number}.example": Site(f"h{number}.example", tempers[number % len(tempers)]) for number in range(sites)
        }
        self.coming: list[tuple[int, int, FetchRequest]] = []
        self.number = 0
        self.found = 0
        self.sent = 0
        self.order: list[str] = []

    def job(self, name: str = "j", **spec: Any) -> None:
        politeness = {"delay": self.delay_ms / 1000, "concurrency_per_host": self.concurrency}
        self.crawl.fold(a_job(name, **({"politeness": politeness} | spec)))

    def happen(self) -> None:
        """Something comes, or some time passes."""
        crawl, pick = self.crawl, self.random.randrange(6)
        if self.coming and pick < 4:
            crawl.now_ms, _, request = heappop(self.coming)
            if request.kind == "robots":
                self.robots(request)
            else:
                self.comes(request)
        elif pick == 4 and self.found < 60:
            self.links(5)
        else:
            crawl.now_ms += self.random.choice((1, 400, 1_000, 6_000))
            while self.coming and self.coming[0][0] <= crawl.now_ms:
                _, _, request = heappop(self.coming)
                self.robots(request) if request.kind == "robots" else self.comes(request)

    def robots(self, request: FetchRequest) -> None:
        """One in four does not answer; every other page of a host with rules is forbidden."""
        silent = self.random.random() < 0.25
        rules = "User-agent: *\nDisallow: /*1$\nCrawl-delay: 2\n" if request.key < "h2" else ""
        site = self.sites[request.key]
        site.out.discard((request.fp, request.attempt))
        site.answered_ms = [*site.answered_ms[-8:], self.crawl.now_ms]
        self.crawl.robots(
            None if silent else rules, None if silent else 200, request.key, reason="reset" if silent else None
        )

    def links(self, count: int, job: str = "j", **more: object) -> None:
        found: list[Discovered] = []
        for _ in range(count):
            self.found += 1
            host = self.random.choice(list(self.sites))
            found.append(a_link(f"p{self.found}", host=host, job=job, **more))
        self.crawl.fold(*found)

    def run(self, hours: float) -> None:
        """Until so much later: whatever comes first happens."""
        crawl, until_ms = self.crawl, self.crawl.now_ms + round(hours * HOUR_MS)
        while crawl.now_ms < until_ms:
            for request in crawl.dispatch():
                self.leaves(request)
            self.judge()
            wake = crawl.core.wake_at_ms(crawl.now_ms)
            nexts = [wake if wake is not None else until_ms, until_ms]
            if self.coming:
                nexts.append(self.coming[0][0])
            crawl.now_ms = max(crawl.now_ms + (wake == crawl.now_ms), min(nexts))
            while self.coming and self.coming[0][0] <= crawl.now_ms:
                self.comes(heappop(self.coming)[2])

    def restart(self) -> None:
        """A new owner, once its predecessor's requests are answered (rule H)."""
        while self.coming:
            self.crawl.now_ms, _, request = heappop(self.coming)
            self.comes(request)
        self.crawl.restart()

    # ---- the site

    def leaves(self, request: FetchRequest) -> None:
        site, now = self.sites[request.key], self.crawl.now_ms
        if len(site.out) >= self.concurrency:
            raise Rude(f"{request.url} is request {len(site.out) + 1} at a time")
        resting = sum(at_ms + self.delay_ms > now for at_ms in site.answered_ms[-self.concurrency :])
        if len(site.out) + resting >= self.concurrency and resting:
            raise Rude(f"{request.url} sent {now - site.answered_ms[-1]} ms after an answer")
        if now < site.quiet_until_ms:
            raise Rude(f"{request.url} sent {site.quiet_until_ms - now} ms before the host may be asked again")
        site.out.add((request.fp, request.attempt))
        self.sent += 1
        self.order.append(request.job)
        spans = {"slow": (2_000, 25_000)}.get(site.temper, (20, 900))
        self.number += 1
        heappush(self.coming, (now + self.random.randint(*spans), self.number, request))

    def comes(self, request: FetchRequest) -> None:
        """The answer, and some time later or before it the outcome."""
        site, crawl = self.sites[request.key], self.crawl
        site.asked += 1
        status, reason, retry_after = self.answer(site)
        duration_ms = float(crawl.now_ms - request.sent_at_ms)
        crawl.answer(request, status, reason=reason, retry_after_s=retry_after, duration_ms=duration_ms)
        site.out.discard((request.fp, request.attempt))
        site.answered_ms = [*site.answered_ms[-8:], crawl.now_ms]
        if retry_after is not None and status == 429:
            asked_ms = min(max(0.0, retry_after), 900.0) * 1000
            site.quiet_until_ms = max(site.quiet_until_ms, crawl.now_ms + round(asked_ms))
        if status == 200:
            crawl.end(request)
        else:
            retry = 5_000 * 6**request.attempt if request.attempt < 3 else None
            crawl.end(request, outcome="failed", reason=reason or f"http_{status}", retry_in_ms=retry)

    def answer(self, site: Site) -> tuple[int | None, str | None, float | None]:
        hour = (self.crawl.now_ms - NOW_MS) // HOUR_MS
        if site.temper == "failing" and site.asked % 2:
            return 503, None, None
        if site.temper == "down" and hour % 3 == 1:
            return None, "connect", None
        if site.temper == "throttling" and self.random.random() < 0.3:
            return 429, None, self.random.choice((None, 5.0, 120.0, -3.0, 1e9, 1e300))
        return 200, None, None

    # ---- laws of the ledger

    def judge(self) -> None:
        for job in self.crawl.core.jobs():
            ledger = self.crawl.ledger(job)
            assert ledger.accepted == ledger.pending + sum(getattr(ledger, name) for name in OUTCOMES)
            assert ledger.links_found == ledger.accepted + ledger.duplicates + ledger.refused

    def recounted(self, job: str = "j") -> tuple[int, int, int, int]:
        """What the independent count says, less what the ledger says."""
        counted, ledger = self.crawl.core.recount(job), self.crawl.ledger(job)
        assert counted is not None
        return (
            counted.accepted - ledger.accepted,
            counted.pending - ledger.pending,
            counted.fetched - ledger.fetched,
            counted.failed - ledger.failed,
        )

    def wanted(self, job: str, version: int, wanted: str) -> None:
        self.crawl.fold(JobChanged(job=job, version=version, epoch=1, wanted=wanted, at_ms=self.crawl.now_ms))  # type: ignore[arg-type]  # a builder
