"""The world around the real core: topics, fetchers, parsers, the gateway, and everything that can go wrong.

Every step is one choice among the actions that are possible. `drain` ends the faults, and all must come to rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from odradek.contracts import (
    Batch,
    Discovered,
    Fact,
    Fetched,
    FetchRequest,
    JobChanged,
    JobRecord,
    Links,
    Merged,
    Parsed,
    PatternReleased,
    Progress,
    Reached,
    RetryAsked,
    RobotsFetched,
    RunDue,
)
from odradek.urls import partition_of
from odradek_scheduler.core.completion import Completion, Need

from .choices import Choices
from .scheduler import Scheduler
from .site import Site, Violation

JOB = "j"
RETRY_MS = 1_000
NEVER_S = 10_000 * 86_400
TIMEOUT_MS = 30_000
"""A fetch takes no longer; half of the lease."""


@dataclass(frozen=True)
class Scenario:
    """What there is to crawl and what may happen. A URL is a letter; `part` is the partition of its host."""

    part: dict[str, int]
    seeds: tuple[str, ...]
    graph: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kind: dict[str, str] = field(default_factory=dict)
    """ok, fail, flaky, failonce, contra (ok first, then 404), poison."""
    grow: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Links that only a second fetch sees."""
    controls: tuple[str, ...] = ()
    partitions: int = 2
    retries: int = 1
    max_pages: int | None = None
    limits: tuple[int | None, ...] = ()
    """What `max_pages` is set to, one after the other, by the control `limit`; null: none."""
    expires_s: float | None = None
    max_pages_per_host: int | None = None
    delay_s: float = 0.0
    concurrency: int = 8
    robots: dict[str, str | None] = field(default_factory=dict)
    """Text by host; None: no answer for the first two times. Empty: robots.txt is not asked for."""
    sitemaps: tuple[str, ...] = ()
    """URLs that `robots` name as sitemaps; what they name stands in `graph`."""
    pattern: bool = False
    """All URLs of a host follow one pattern and show the same, and a pattern is quarantined after two pages."""
    batch_seeds: bool = False
    zombie: bool = False
    lose_requests: bool = False
    depth_first: bool = False
    noise: bool = False
    """Facts of another job keep coming until this one is complete."""
    later: tuple[str, ...] = ()
    """Seeds that the control `seed` submits; the gateway tells them for the first run, whatever is under way."""
    crashes: int = 3
    steps: int = 120
    broken: frozenset[str] = frozenset()
    """Rules switched off, to see that the oracle bites."""

    def host(self, url: str) -> str:
        return f"h{self.part[url]}.example"

    def url(self, url: str) -> str:
        return f"https://{self.host(url)}/{'list?x=' if self.pattern else ''}{url}"

    @property
    def recurs(self) -> bool:
        """True when a person asks for further runs."""
        return "run" in self.controls

    @property
    def last_limit(self) -> int | None:
        return self.limits[-1] if self.limits else self.max_pages

    @property
    def late_limits(self) -> tuple[int, ...]:
        """The limits since the job had none; empty for one that always had one, or has none."""
        every = (self.max_pages, *self.limits)
        bare = max((place for place, limit in enumerate(every) if limit is None), default=len(every))
        return tuple(limit for limit in every[bare:] if limit is not None)

    @property
    def highest_limit(self) -> int | None:
        limits = (self.max_pages, *self.limits)
        return None if None in limits else max(limit for limit in limits if limit is not None)

    def spec(self, limit: int | None) -> dict[str, Any]:
        return {
            "expires": self.expires_s,
            "schedule": {"every": NEVER_S} if self.recurs else None,
            "traps": {"quarantine_after": 2} if self.pattern else {},
            "scope": {"max_pages": limit, "max_pages_per_host": self.max_pages_per_host},
            "strategy": "depth_first" if self.depth_first else "breadth_first",
            "politeness": {
                "respect_robots": bool(self.robots),
                "delay": self.delay_s,
                "concurrency_per_host": self.concurrency,
            },
        }


class World:
    def __init__(self, scenario: Scenario, choose: Choices, story: list[str] | None = None) -> None:
        self.scenario, self.choose, self.story = scenario, choose, story
        self.now_ms = 1_000_000
        self.frontier: list[list[Batch]] = [[] for _ in range(scenario.partitions)]
        self.scheduled: list[FetchRequest] = []
        self.fetched: list[bool] = []
        self.pages: list[tuple[FetchRequest, str, tuple[str, ...], int]] = []
        self.parsed: list[bool] = []
        self.fetch_counts: dict[str, int] = {}
        self.robots_counts: dict[str, int] = {}
        self.items: dict[str, int] = {}
        self.forwarded: list[set[tuple[int, str]]] = [set(), set()]
        self.progress: dict[int, Progress] = {}
        self.views: list[Progress | JobRecord] = []
        """What the owner of the home partition has not seen yet."""
        self.record = JobRecord(job=JOB, spec={}, seeding=("s",), seeded=True)
        if "seeding" in scenario.broken:
            self.record = JobRecord(job=JOB, spec={}, seeded=True)
        self.home = partition_of(JOB, scenario.partitions)
        self.completion = Completion(JOB, scenario.partitions)
        self.reading: tuple[Need, dict[int, int]] | None = None
        self.complete: Reached | None = None
        self.reached: Reached | None = None
        """The newest announcement, as the compacted topic has it."""
        self.run = 1
        """The newest run that was told to any partition."""
        self.running: dict[int, int] = {}
        """Requests that a fetcher is carrying out, and since when."""
        self.inherited: set[int] = set()
        self.silent: set[int] = set()
        """Requests that a fetcher has begun and told nothing of: only the site would know of one that is lost now."""
        """Requests that a fetcher has from another's partitions: they may have been carried out, or begun."""
        self.site = Site(scenario)
        self.limit_of = {1: scenario.max_pages}
        """By version of the job."""
        self.counted: dict[int, int] = {}
        """By partition: pages kept and under way when it heard of a limit and had none before."""
        self.overdue = 0
        """Pages kept although nobody knew of them any more: their requests were past their leases."""
        self.controls = list(scenario.controls)
        self.limits = list(scenario.limits)
        self.crashes_left = scenario.crashes
        self.draining = False
        self.outstanding: dict[str, list[dict[str, Any]]] = {}
        self.schedulers = [Scheduler(self, number) for number in range(scenario.partitions)]
        self.gateway: list[tuple[Callable[[], None], bool]] = []
        """Sends to come, and whether each belongs to a submission (of seeds, or of retry-failed)."""
        self._submit()

    # ---- the gateway: every send is a step of its own

    def _submit(self) -> None:
        self.views.append(self.record)
        spec = self.scenario.spec(self.scenario.max_pages)
        self._tell(JobChanged(job=JOB, version=1, epoch=1, spec=spec, created_at_ms=self.now_ms))
        seeds = list(self.scenario.seeds)
        if self.scenario.batch_seeds:
            for partition in range(self.scenario.partitions):
                mine = [seed for seed in seeds if self.scenario.part[seed] == partition]
                if mine:
                    self._later(lambda p=partition, us=mine: self.append(p, [self.found(u) for u in us]))
        else:
            for seed in seeds:
                self._later(lambda u=seed: self.append(self.scenario.part[u], [self.found(u)]))
        self._later(lambda: self._record(seeding=()))

    def _later(self, step: Callable[[], None], *, submission: bool = True) -> None:
        self.gateway.append((step, submission))

    @property
    def submitting(self) -> bool:
        """True while part of a submission has not been sent."""
        return any(submission for _, submission in self.gateway)

    def _tell(self, fact: Fact, *, submission: bool = True) -> None:
        for partition in range(self.scenario.partitions):
            self._later(lambda p=partition: self.append(p, [fact]), submission=submission)

    def _record(self, **changes: Any) -> None:
        fields = {name: getattr(self.record, name) for name in JobRecord.__struct_fields__}
        self.record = JobRecord(**(fields | changes | {"version": self.record.version + 1}))
        self.views.append(self.record)

    def found(self, url: str, via: FetchRequest | None = None) -> Discovered:
        host, run = self.scenario.host(url), 1 if via is None else via.run
        page = None if via is None else via.fp
        return Discovered(
            job=JOB, url=self.scenario.url(url), fp=url, key=host, seed=via is None, via=page, run=run
        )  # fmt: skip

    # ---- topics

    def append(self, partition: int, facts: list[Fact]) -> None:
        batch = Batch(facts=tuple(facts))
        self.frontier[partition].append(batch)
        self._begins(facts)
        if self.complete is not None and any(isinstance(fact, Discovered) and fact.job == JOB for fact in facts):
            raise Violation(f"early: completion was announced, then {_short(batch)} reached partition {partition}")

    def _begins(self, facts: list[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, RunDue) and fact.run > self.run:
                if self.reached is None or self.reached.run < self.run:
                    raise Violation(f"overlap: run {fact.run} begins and run {self.run} has not ended")
                self.run, self.complete = fact.run, None

    def deliver(self, topic: str, message: Any) -> None:
        if topic == "scheduled":
            self.scheduled.append(message)
            self.fetched.append(False)
        elif topic == "frontier":
            self.append(*message)
        else:
            if "renewing" in self.scenario.broken:
                message = replace(message, renewing=False)
            self.progress[message.partition] = message
            self.views.append(message)

    # ---- actions

    def actions(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for scheduler in self.schedulers:
            found += scheduler.actions()
        found += self._fetching()
        if not all(self.parsed):
            found += [("parse",)] * 2
        if self.gateway:
            found += [("submit",)] * 2
        elif self.controls and any(self.frontier):
            found.append(("control",))
        if self.views:
            found += [("view",)] * 2
        if self.complete is None and self.completion.needs(self.now_ms) is not None:
            found += [("detect",)] * 2
        if self.scenario.noise and self.complete is None:
            found += [("make_noise",)] * 2
        found.append(("pass_time",))
        return found

    def _fetching(self) -> list[tuple[str]]:
        found = [("fetch",)] * 2 if self._waiting() else []
        found += [("finish",)] * 2 if self.running else []
        if not self.draining:
            found += [("rebalance",)] if self.open_requests() else []
            found += [("lose",)] if self.scenario.lose_requests and self._losable() else []
        return found

    def step(self) -> None:
        actions = self.actions()
        name, *arguments = actions[self.choose(len(actions))]
        if arguments:
            getattr(arguments[0], name)()
        else:
            getattr(self, name)()

    def open_requests(self) -> list[int]:
        return [index for index, done in enumerate(self.fetched) if not done]

    def pass_time(self) -> None:
        wakes = [wake for each in self.schedulers if (wake := each.core.wake_at_ms(self.now_ms)) is not None]
        waits = [wake - self.now_ms for wake in wakes if wake > self.now_ms]
        soon = min((wait for wait in waits if wait < NEVER_S), default=1_000)
        steps = (soon, 10, 1_000, 31_000, 61_000)
        pick = 0 if self.draining else self.choose(len(steps) + 4)
        now_ms = self.now_ms + (steps[pick] if pick < len(steps) else 10)
        for index, since_ms in list(self.running.items()):
            if since_ms + TIMEOUT_MS <= now_ms:
                self._finish(index)
        self.now_ms = now_ms
        for each in self.schedulers:
            each.report()

    def submit(self) -> None:
        step, _ = self.gateway.pop(0)
        step()

    def control(self) -> None:
        control = self.controls.pop(0)
        self.say(f"control: {control}")
        if control == "retry_failed":
            self._record(epoch=self.record.epoch + 1, seeding=() if "seeding" in self.scenario.broken else ("r",))
            self.complete = None
            self._tell(JobChanged(job=JOB, version=self.record.version, epoch=self.record.epoch))
            self._tell(RetryAsked(job=JOB, epoch=self.record.epoch))
            self._later(lambda: self._record(seeding=()))
        elif control == "run":
            self._ask_run()
        elif control == "seed":
            self._record(epoch=self.record.epoch + 1, seeding=("m",))
            self.complete = None
            self._tell(JobChanged(job=JOB, version=self.record.version, epoch=self.record.epoch))
            for url in self.scenario.later:
                self._later(lambda u=url: self.append(self.scenario.part[u], [self.found(u)]))
            self._later(lambda: self._record(seeding=()))
        elif control == "release":
            self._release()
        elif control == "merge":
            self._merge()
        elif control == "limit":
            self._limit()
        else:
            wanted = {"cancel": "cancelled", "pause": "paused", "resume": "running"}[control]
            self._record(wanted=wanted)
            self._tell(
                JobChanged(job=JOB, version=self.record.version, epoch=self.record.epoch, wanted=wanted),
                submission=False,
            )

    def _ask_run(self) -> None:
        """As the gateway does it: not while a run is under way."""
        if self.complete is None:
            self.controls.insert(0, "run")
            return
        self._record(asked_run=self.run + 1)
        asked = JobChanged(
            job=JOB, version=self.record.version, epoch=self.record.epoch, asked_run=self.record.asked_run
        )
        self._tell(asked, submission=False)

    def _release(self) -> None:
        self._record(epoch=self.record.epoch + 1, seeding=("q",))
        self.complete = None
        self._tell(JobChanged(job=JOB, version=self.record.version, epoch=self.record.epoch))
        for partition in range(self.scenario.partitions):
            host = f"h{partition}.example"
            fact = PatternReleased(job=JOB, key=host, pattern=f"{host}/list?x", epoch=self.record.epoch)
            self._later(lambda p=partition, fact=fact: self.append(p, [fact]))
        self._later(lambda: self._record(seeding=()))

    def _limit(self) -> None:
        """As the gateway does it: a new limit is a submission, so that nothing completes before all have heard."""
        limit = self.limits.pop(0)
        self._record(epoch=self.record.epoch + 1, seeding=("p",))
        self.complete = None
        spec = self.scenario.spec(limit)
        self.limit_of[self.record.version] = limit
        self._tell(JobChanged(job=JOB, version=self.record.version, epoch=self.record.epoch, spec=spec))
        self._later(lambda: self._record(seeding=()))

    def _merge(self) -> None:
        for scheduler in self.schedulers:
            pages = scheduler.backlog()
            if len(pages) > 1:
                _, host, priority, _ = pages[0]
                sources = tuple(offset for _, _, _, offset in pages[:2])
                self.append(scheduler.number, [Merged(job=JOB, key=host, sources=sources, priority=priority)])

    def make_noise(self) -> None:
        partition, url = self.choose(self.scenario.partitions), f"noise{self.choose(3)}"
        host = f"h{partition}.example"
        self.append(partition, [Discovered(job="other", url=f"https://{host}/{url}", fp=url, key=host)])

    # ---- fetchers and parsers

    def _waiting(self) -> list[int]:
        free = [index for index in self.open_requests() if index not in self.running]
        if "tenure" in self.scenario.broken:
            free += [index for index in self.running if index in self.inherited and not self.fetched[index]]
        return free

    def _losable(self) -> list[int]:
        return [index for index in self._waiting() if index not in self.silent]

    def lose(self) -> None:
        index = self._losable()[self.choose(len(self._losable()))]
        self.fetched[index] = True
        self.request_died(self.scheduled[index])
        self.say(f"request lost: {self.scheduled[index].fp}")

    def fetch(self) -> None:
        index = self._waiting()[self.choose(len(self._waiting()))]
        request = self.scheduled[index]
        if self.now_ms >= request.lease_until_ms:
            self.fetched[index] = True
            self.say(f"fetcher: {request.fp} try {request.attempt} is past its lease")
        elif self._given_back_as(index) is not None:
            self._give_back(index, request)
        else:
            self.site.asked(request, self.now_ms)
            self.running[index] = self.now_ms
            self.silent.add(index)
            if self.draining or self.choose(3):
                self._finish(index)
            else:
                self.say(f"fetcher: {request.fp} try {request.attempt} begins")

    def _given_back_as(self, index: int) -> str | None:
        if index in self.inherited and "inherited" not in self.scenario.broken:
            return "inherited"
        late = self.now_ms + TIMEOUT_MS > self.scheduled[index].lease_until_ms
        return "overdue" if late and "overdue" not in self.scenario.broken else None

    def _give_back(self, index: int, request: FetchRequest) -> None:
        fact = lambda: self._told_back(request, self._given_back_as(index))  # noqa: E731
        commit = lambda: self._commit(index)  # noqa: E731
        self._some(f"fetcher: gives {request.fp} try {request.attempt} back", [fact, commit])

    def _told_back(self, request: FetchRequest, reason: str | None) -> None:
        if reason == "overdue":
            self.request_died(request)
        else:
            self.answered(request)
        if request.kind == "robots":
            heard: Fact = RobotsFetched(
                key=request.key, origin=f"https://{request.key}", reason=reason, fp=request.fp,
                lease_until_ms=request.lease_until_ms, at_ms=self.now_ms,
            )  # fmt: skip
        else:
            heard = self._heard(request, None, reason)
        self.append(int(request.key[1]), [heard])

    def _heard(self, request: FetchRequest, status: int | None, reason: str | None = None) -> Fetched:
        return Fetched(
            job=JOB, fp=request.fp, key=request.key, attempt=request.attempt, status=status, kind=request.kind,
            run=request.run, reason=reason, sent_at_ms=request.sent_at_ms, at_ms=self.now_ms,
        )  # fmt: skip

    def _commit(self, index: int) -> None:
        self.fetched[index] = True
        self.inherited.discard(index)

    def rebalance(self) -> None:
        """Partitions go to another fetcher; the former owner of some was killed, or has lost its session.

        What it had begun ends at the latest now: with its process, or because it can no longer prove its membership.
        """
        waiting = self.open_requests()
        first = waiting[self.choose(len(waiting))]
        gone = [index for index in waiting if index == first or self.choose(2)]
        self.say(f"requests {[self.scheduled[index].fp for index in gone]} go to another fetcher")
        for index in gone:
            if index in self.running and "tenure" not in self.scenario.broken:
                self._break_off(index)
        self.inherited.update(gone)

    def _break_off(self, index: int) -> None:
        request = self.scheduled[index]
        del self.running[index]
        self.site.ended(request, self.now_ms)
        self.answered(request)
        if self.choose(2):
            self._told_back(request, "abandoned")

    def finish(self) -> None:
        self._finish(list(self.running)[self.choose(len(self.running))])

    def _finish(self, index: int) -> None:
        """A site has answered; what is told of it may end in the middle."""
        request = self.scheduled[index]
        del self.running[index]
        self.site.ended(request, self.now_ms)
        done = self._fetch_robots(index, request) if request.kind == "robots" else self._fetch_page(index, request)
        if not done:
            self.inherited.add(index)

    def _fetch_page(self, index: int, request: FetchRequest) -> bool:
        url, outcome = letter(request), self._outcome(request)
        links = self.scenario.graph.get(url, ())
        if self.fetch_counts[url] > 1:
            links += self.scenario.grow.get(url, ())

        def page() -> None:
            self.answered(request)
            self.silent.discard(index)
            self.pages.append((request, outcome, links, self.now_ms))
            self.parsed.append(False)

        def fact() -> None:
            self.answered(request)
            self.append(self.scenario.part[url], [self._heard(request, {"ok": 200, "gone": 404, "err": 500}[outcome])])

        commit = lambda: self._commit(index)  # noqa: E731
        return self._some(f"fetcher: {request.fp} try {request.attempt} -> {outcome}", [page, fact, commit])

    def _fetch_robots(self, index: int, request: FetchRequest) -> bool:
        count = self.robots_counts[request.key] = self.robots_counts.get(request.key, 0) + 1
        text = self.scenario.robots.get(request.key)
        silent = text is None and count < 3
        heard = RobotsFetched(
            key=request.key, origin=f"https://{request.key}", status=None if silent else 200,
            reason="timeout_total" if silent else None, text=text, fp=request.fp,
            lease_until_ms=request.lease_until_ms, at_ms=self.now_ms,
        )  # fmt: skip
        self.silent.discard(index)
        self.answered(request)
        self.append(int(request.key[1]), [heard])
        if self.draining or self.choose(4):
            self._commit(index)
            return True
        return False

    def _outcome(self, request: FetchRequest) -> str:
        url = letter(request)
        kind = self.scenario.kind.get(url, "ok")
        count = self.fetch_counts[url] = self.fetch_counts.get(url, 0) + 1
        if kind == "fail":
            return "gone"
        if kind == "flaky":
            return "ok" if self.draining else ("ok", "err")[self.choose(2)]
        if kind == "failonce":
            return "gone" if request.attempt == 0 else "ok"
        if kind == "contra":
            return "ok" if count == 1 else "gone"
        return "ok"

    def _some(self, what: str, steps: list[Callable[[], None]]) -> bool:
        """Do the steps, or die after some of them."""
        done = len(steps) if self.draining else min(len(steps), self.choose(len(steps) + 6))
        self.say(what + ("" if done == len(steps) else f" KILLED after {done} of {len(steps)} steps"))
        for each in steps[:done]:
            each()
        return done == len(steps)

    def parse(self) -> None:
        first: dict[str, int] = {}
        for index, done in enumerate(self.parsed):
            if not done:
                first.setdefault(self.pages[index][0].fp, index)
        index = sorted(first.values())[self.choose(len(first))]
        request, outcome, links, answered_ms = self.pages[index]
        answered_ms = 0 if "parsed_tells" in self.scenario.broken else answered_ms

        def commit() -> None:
            self.parsed[index] = True

        self.overdue += request.lease_until_ms <= self.now_ms and outcome == "ok"
        if self.scenario.kind.get(request.fp) == "poison":
            if "poison_fact" not in self.scenario.broken:
                self._end(request, "failed", "poison", fetched_at_ms=answered_ms)
            commit()
            return
        if outcome == "ok":
            self._parse_page(request, links, answered_ms, commit)
            return
        retry = outcome == "err" and request.attempt < self.scenario.retries
        reason = "http_404" if outcome == "gone" else "http_500"
        fact = lambda: self._end(  # noqa: E731
            request, "failed", reason, retry_in_ms=RETRY_MS if retry else None, fetched_at_ms=answered_ms
        )
        self._some(f"parser: {request.fp} try {request.attempt} {outcome}", [fact, commit])

    def _parse_page(
        self, request: FetchRequest, links: tuple[str, ...], answered_ms: int, commit: Callable[[], None]
    ) -> None:
        forwarded = self.forwarded[self.choose(2)]
        new = [url for url in dict.fromkeys(links) if (request.run, url) not in forwarded]
        dropped = len(set(links)) - len(new)
        if "lru_after_ack" in self.scenario.broken:
            forwarded.update((request.run, url) for url in new)
        by_partition: dict[int, list[Fact]] = {}
        for url in new:
            by_partition.setdefault(self.scenario.part[url], []).append(self.found(url, request))
        send = [lambda p=p, facts=facts: self.append(p, facts) for p, facts in sorted(by_partition.items())]
        send.append(lambda: forwarded.update((request.run, url) for url in new))
        page = request.kind == "page"
        items = lambda: self.items.update({request.fp: request.attempt} if page else {})  # noqa: E731
        fact = lambda: self._end(  # noqa: E731
            request, "fetched", None, kept=page, links=Links(found=dropped, duplicates=dropped), items=int(page),
            content="same" if self.scenario.pattern else None, fetched_at_ms=answered_ms,
        )  # fmt: skip
        steps = [*send, items, fact, commit]
        if "links_before_parsed" in self.scenario.broken:
            steps = [items, fact, commit, *send]
        if not self._some(f"parser: {request.fp} try {request.attempt} ok", steps) and self.choose(2) == 0:
            forwarded.clear()

    def _end(self, request: FetchRequest, outcome: Any, reason: str | None, **more: Any) -> None:
        fact = Parsed(
            job=JOB, fp=request.fp, key=request.key, outcome=outcome, attempt=request.attempt, reason=reason,
            at_ms=self.now_ms, run=request.ledger_run, **more,
        )  # fmt: skip
        self.append(self.scenario.part[letter(request)], [fact])

    # ---- politeness, seen from the site

    def request_leaves(self, request: FetchRequest) -> None:
        """Called when the core decides to send; the laws of pace are judged here."""
        mine = self.outstanding.setdefault(request.key, [])
        busy = [each for each in mine if each["answered_ms"] is None and each["lease_ms"] > self.now_ms]
        if len(busy) >= self.scenario.concurrency:
            raise Violation(f"impolite: {request.fp} sent while {[each['fp'] for each in busy]} are unanswered")
        delay_ms = self.scenario.delay_s * 1000
        resting = [each for each in mine if (each["answered_ms"] or -delay_ms) + delay_ms > self.now_ms]
        if len(busy) + len(resting) >= self.scenario.concurrency and resting:
            raise Violation(
                f"impolite: {request.fp} sent {self.now_ms - resting[-1]['answered_ms']} ms after an answer"
            )
        mine.append({"fp": request.fp, "try": request.attempt, "lease_ms": request.lease_until_ms, "answered_ms": None})

    def request_died(self, request: FetchRequest) -> None:
        """It never left."""
        self.outstanding[request.key] = [
            each
            for each in self.outstanding[request.key]
            if each["lease_ms"] != request.lease_until_ms or (each["fp"], each["try"]) != (request.fp, request.attempt)
        ]

    def answered(self, request: FetchRequest) -> None:
        for each in self.outstanding.get(request.key, ()):
            if (each["fp"], each["try"], each["lease_ms"]) == (request.fp, request.attempt, request.lease_until_ms):
                each["answered_ms"] = each["answered_ms"] or self.now_ms

    # ---- completion

    def new_home(self) -> None:
        """The owner of the home partition has changed: it reads the compacted topics from the beginning."""
        self.completion = Completion(JOB, self.scenario.partitions)
        self.reading = None
        self.views = [self.record, *self.progress.values()]
        if self.reached is not None:
            self.completion.already_reached(self.reached)

    def view(self) -> None:
        for _ in range(1 + self.choose(len(self.views))):
            seen = self.views.pop(0)
            if isinstance(seen, JobRecord):
                self.completion.record_changed(seen)
            else:
                self.completion.reported(seen)

    def detect(self) -> None:
        """One small read: one partition's end or committed offset."""
        while (need := self.completion.needs(self.now_ms)) is not None and need.topic in ("items", "logs"):
            self.completion.answered(need, {})
        reached = self.completion.reached(self.now_ms)
        if reached is not None:
            self._announced(reached)
        if need is None:
            return
        if self.reading is None or self.reading[0] != need:
            self.reading = (need, {})
        offsets = self.reading[1]
        logs = {"scheduled": [self.fetched], "pages": [self.parsed], "frontier": self.frontier}[need.topic]
        partition = len(offsets)
        offsets[partition] = len(logs[partition]) if need.what == "ends" else _committed(logs[partition])
        if "channels" in self.scenario.broken and need.what == "committed":
            offsets[partition] = len(logs[partition])
        if "frontier_ends" in self.scenario.broken and need.topic == "frontier":
            offsets[partition] = 0
        if len(offsets) == len(logs):
            self.completion.answered(need, offsets)
            self.reading = None

    def _announced(self, reached: Reached) -> None:
        self.reached = reached
        for scheduler in self.schedulers:
            scheduler.core.ended(reached)
        if reached.epoch < self.record.epoch:
            self.say("an announcement of an older epoch is void")
            self.completion.already_reached(reached)
            return
        self.complete = reached
        self.say(f"COMPLETE {reached.state}")

    def say(self, sentence: str) -> None:
        if self.story is not None:
            self.story.append(f"{self.now_ms - 1_000_000:>8} {sentence}")


def letter(request: FetchRequest) -> str:
    """The scenario's name of a request's URL; fingerprints of sitemaps are the core's own."""
    return request.fp if request.kind == "page" else request.url.rpartition("/")[2]


def _committed(done: list[bool]) -> int:
    """The low-water mark: every record below it is done."""
    return next((index for index, each in enumerate(done) if not each), len(done))


def _short(batch: Batch) -> str:
    return ", ".join(f"{type(fact).__name__}({getattr(fact, 'fp', '')})" for fact in batch.facts)
