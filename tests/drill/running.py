"""Runs a plan: rounds of a crawl, faults in each, a reckoning after each."""

import asyncio
import contextlib
import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import KafkaException
from pymongo.errors import PyMongoError
from tests.drill.faults import MAY_END, MAY_END_LATER, inject
from tests.drill.gathering import dead_letters, forget_events, gather
from tests.drill.plan import Planned
from tests.drill.reckoning import Expected, Verdict, reckon
from tests.drill.report import Happening, Report, Round
from tests.drill.sites import HOSTILE, GrowingSite
from tests.drill.stack import DrillStack, SmallDisk
from tests.drill.topics import cut_off
from tests.drill.world import NotInjected, World, recovered, until
from tests.e2e.crawling import CARDS_RULE

from odradek.clock import now_ms
from odradek.contracts import timestamp
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.ends import Ends
from odradek.runtime.supervisor import Happened
from odradek.testing.hostile import HostileSite
from odradek.topics import ITEMS, LOGS, PAGES, SCHEDULED

BETWEEN_PAGES = 40
"""Pages that the site gives away between a recovery and the next fault."""
START_S = 60.0
HOSTILE_DELAY = "3s"
"""So that the hostile site is crawled for as long as there are faults, two minutes at least."""


@dataclass(slots=True)
class Drill:
    """Stack, disk and notes of a whole drill."""

    stack: DrillStack
    report: Report
    say: Callable[[str], None]
    disk: SmallDisk | None
    delay_ms: int
    keep: Callable[[Report], None] = lambda _: None
    """Is given the report after each fault and each round."""
    happened: list[Happened] = field(default_factory=list)
    counted: int = 0
    """Of what has happened, so much has been looked at."""
    may_end: tuple[str, ...] = ()
    """Services that end of what came in this round."""

    async def round(self, number: int, faults: Sequence[Planned]) -> None:
        """One crawl with these faults."""
        begun, self.may_end = time.monotonic(), ()
        async with self._world() as (world, hostile):
            world.begun_at = timestamp(now_ms())
            letters = await world.asked(lambda: dead_letters(world))
            world.job = await world.submit(**_growing_job(world.site, self.delay_ms))
            hostile_job = await world.submit(**_hostile_job(hostile))
            alone: list[str] = []
            for fault in faults:
                await self._pages_later(world)
                alone += self._ended(world, self.may_end)[0]
                await self._fault(world, number, fault)
            world.site.closed = True
            closed = time.monotonic()
            verdict = await self._reckoned(world, hostile_job, letters)
            alone += self._ended(world, self.may_end)[0]
        now = time.monotonic()
        self.report.rounds.append(
            Round(
                number=number, pages=world.site.linked, seconds=now - begun, end_s=now - closed, verdict=verdict,
                by_itself=tuple(alone),
            )
        )  # fmt: skip
        self.keep(self.report)
        self.say(f"round {number}: {world.site.linked} pages, {now - begun:.0f} s, {verdict}")

    async def _reckoned(self, world: World, hostile_job: str, letters: Counter[str]) -> Verdict:
        try:
            found = await gather(world, hostile_job, letters)
            for topic in (SCHEDULED, PAGES, ITEMS, LOGS):  # as retention would, so that no round reads another's
                await asyncio.to_thread(cut_off, world, topic)
            await world.asked(lambda: forget_events(world))
        except (TimeoutError, InfrastructureAway, KafkaException, PyMongoError, httpx.TransportError) as error:
            return Verdict(0, 0, (f"the round could not be reckoned: {error}",), 0, 0, 0)
        foreseen = world.foreseen
        return reckon(
            Expected(
                pages=world.site.linked, hostile=_hostile_outcomes(), bad_jobs=foreseen.bad_jobs,
                dead_letters=foreseen.dead_letters, gaps=foreseen.gaps,
            ),
            found,
        )  # fmt: skip

    async def _fault(self, world: World, number: int, fault: Planned) -> None:
        world.remarks.clear()
        begun = time.monotonic()
        stuck = ""
        try:
            await inject(world, fault)
        except (
            TimeoutError,
            NotInjected,
            OSError,
            AssertionError,
            InfrastructureAway,
            UserError,
            KafkaException,
        ) as error:
            stuck = f"the fault itself failed: {error}"
        healed = time.monotonic()
        stuck = stuck or await recovered(world, healed)
        now = time.monotonic()
        self.may_end += MAY_END_LATER.get(fault.name, ())
        alone, excused = self._ended(world, (*MAY_END.get(fault.name, ()), *self.may_end))
        self.report.happenings.append(
            Happening(
                fault=fault, round=number, lasted_s=round(healed - begun, 1),
                recovery_s=None if stuck else round(now - healed, 1), stuck=stuck, remarks=tuple(world.remarks),
                by_itself=tuple(alone), excused=tuple(excused),
            )
        )  # fmt: skip
        self.keep(self.report)
        self.say(f"{fault.number} {fault.name}: {healed - begun:.1f} s, {stuck or f'{now - healed:.1f} s to recover'} "
                 f"{world.remarks} {alone} {excused}")  # fmt: skip

    def _ended(self, world: World, may_end: Sequence[str]) -> tuple[list[str], list[str]]:
        """Children that have ended since the last call and that no fault has killed: those that must not, and may."""
        fresh, self.counted = self.happened[self.counted :], len(self.happened)
        died = Counter(each.name for each in fresh if each.event == "died")
        alone = list((died - world.killed).elements())
        world.killed -= died
        excused = [name for name in alone if name.partition("-")[0] in may_end]
        return [name for name in alone if name not in excused], excused

    async def _pages_later(self, world: World) -> None:
        wanted = world.site.served + BETWEEN_PAGES

        async def there() -> bool | None:
            return True if world.site.served >= wanted else None

        with contextlib.suppress(TimeoutError):  # then the next recovery says what stands still
            await until(there, START_S, "")

    @contextlib.asynccontextmanager
    async def _world(self) -> AsyncIterator[tuple[World, HostileSite]]:
        ends = Ends(self.stack.settings)
        async with (
            GrowingSite() as site,
            HostileSite() as hostile,
            httpx.AsyncClient(base_url=self.stack.api_url, timeout=10, trust_env=False) as client,
        ):
            yield World(self.stack, site, client, ends, disk=self.disk), hostile
        ends.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a drill is run, and who hears of it."""

    folder: Path
    delay_ms: int
    disk: SmallDisk | None
    brokers: int = 1
    say: Callable[[str], None] = print
    keep: Callable[[Report], None] = lambda _: None
    """Is given the report after each fault and each round."""


async def run(around: Surroundings, rounds: Sequence[Sequence[Planned]], report: Report) -> Report:
    """The whole drill in a folder of its own; fills the report."""
    happened: list[Happened] = []
    stack = DrillStack(around.folder, happened.append, around.brokers)
    begun = time.monotonic()

    def kept(so_far: Report) -> None:
        so_far.seconds = time.monotonic() - begun
        so_far.load = f"load {os.getloadavg()[1]:.1f} at the end, {os.cpu_count()} cores"
        so_far.errors = errors_in(around.folder / "logs")
        around.keep(so_far)

    this = asyncio.current_task()
    assert this is not None, "a coroutine that runs has a task"
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
    try:
        await stack.start()
        around.say(f"started in {time.monotonic() - begun:.1f} s")
        drill = Drill(stack, report, around.say, around.disk, around.delay_ms, kept, happened)
        for place, faults in enumerate(rounds, 1):
            await drill.round(place, faults)
    finally:
        await stack.stop()
        kept(report)
    return report


def errors_in(logs: Path) -> dict[str, int]:
    """What was written at level error, by service and event."""
    found: Counter[str] = Counter()
    for path in logs.glob("*.log*"):
        kind = path.name.partition(".")[0].partition("-")[0]
        for line in path.read_text(errors="replace").splitlines():
            if '"level": "error"' not in line and '"level": "critical"' not in line:
                continue
            with contextlib.suppress(ValueError):
                found[f"{kind}: {_without_places(str(json.loads(line).get('event')))}"] += 1
    return dict(found)


def _without_places(event: str) -> str:
    """What was said, without threads, addresses and numbers, which differ each time."""
    said = re.sub(r"\[[^]]*\]:?|\S+:\d+\S*|\d+(\.\d+)?", "", event)
    return re.sub(r"\W*[:(=].*", "", said.strip())[:60]


def _growing_job(site: GrowingSite, delay_ms: int) -> dict[str, Any]:
    return {
        "name": "drill",
        "seeds": [site.catalogue.url(0)],
        "scope": {"allowed_domains": site.catalogue.addresses()},
        "politeness": {"delay": f"{delay_ms}ms", "concurrency_per_host": 1, "max_delay": "1s"},
        "fetch": {"timeout": "5s", "retries": 10},
        "extract": [CARDS_RULE],
    }


def _hostile_job(site: HostileSite) -> dict[str, Any]:
    return {
        "name": "hostile",
        "seeds": [site.url(name) for name in HOSTILE],
        "scope": {"follow_links": False, "sitemaps": False},
        "politeness": {"delay": HOSTILE_DELAY, "concurrency_per_host": 1, "respect_robots": False},
        "fetch": {"timeout": "5s", "max_bytes": "1MiB", "retries": 4},
    }


def _hostile_outcomes() -> Counter[str]:
    return Counter(f"{each.outcome} {each.reason}" if each.reason else each.outcome for each in HOSTILE.values())
