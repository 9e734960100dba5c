"""Composition root: a consumer for each topic, in one process on one loop; each waits for its own store only."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

import structlog

from odradek.contracts import JobRecord, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.kafka.groups import take_over_offsets
from odradek.kafka.producer import StageProducer
from odradek.kafka.runner import HandleMany, Runner
from odradek.kafka.view import View
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import calm_collector, run_until_stopped
from odradek.settings import Settings
from odradek.stores import DEAD_LETTERS as LETTERS
from odradek.stores import connect_documents, connect_search
from odradek.topics import ARCHIVE_GROUP, DEAD_LETTERS, GROUPS, ITEMS, JOBS, LOGS, PAGES
from odradek_indexer import settings as own
from odradek_indexer.archiving import Archive, PageRecords
from odradek_indexer.consuming import SERVICE, EventRecords, ItemRecords, LetterRecords
from odradek_indexer.core.cap import EventCap
from odradek_indexer.core.job_rules import JobRules, job_rules
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore
from odradek_indexer.knowing import JobsTopic, KnownRules
from odradek_indexer.logs import EventIndex
from odradek_indexer.settings import Share

FORMER_GROUP = SERVICE
"""Of all topics, up to version 0.1."""
AGAIN_S = 1.0
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Consumer:
    """One topic on its way into one store."""

    topic: str
    runner: Runner
    handle: HandleMany
    share: Share

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set."""
        share = self.share
        await self.runner.run_batches(self.handle, stop, share.batch, share.wait_s, share.alone_s)

    def problem(self) -> str | None:
        """What it waits for; None: nothing."""
        if not self.runner.ready:
            return f"{self.topic} waits for its partitions"
        return None if self.runner.away is None else f"{self.topic} waits: {self.runner.away}"


@dataclass(frozen=True, slots=True)
class Stores:
    """Where things go."""

    items: Callable[[str], ItemStore]
    """By collection."""
    events: EventIndex
    letters: DeadLetterStore
    archive: Archive


def main(settings: Settings) -> int:
    """Run until SIGTERM, drain, and return the exit code."""
    return run_until_stopped(partial(serve, settings))


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Index into the stores that the settings name until `stop` is set."""
    database, engine = connect_documents(settings), connect_search(settings)
    try:
        stores = Stores(
            cache(lambda name: ItemStore(database[name])),
            EventIndex(engine, retention_days=own.RETENTION_DAYS, cap=EventCap(settings.log_events_max)),
            DeadLetterStore(database[LETTERS]),
            Archive(settings.archive_dir),
        )
        await index(settings, stop, stores)
    finally:
        engine.close()
        database.client.close()


async def index(settings: Settings, stop: asyncio.Event, stores: Stores) -> None:
    """Index until `stop` is set."""
    archiving = asyncio.Event()
    jobs: View[JobRules] = View(settings, JOBS, lambda _, value: job_rules(decode(JobRecord, value)))
    jobs.on_change(_when_archiving(archiving, asyncio.get_running_loop()))
    producer = StageProducer(settings)
    ends = Ends(settings)
    rules = KnownRules(JobsTopic(jobs, ends))

    def consumer(topic: str, handle: HandleMany, share: Share, group: str) -> Consumer:
        return Consumer(topic, Runner(settings, SERVICE, topic, producer, share.window, group=group), handle, share)

    events = EventRecords(stores.events)
    consumers = [
        consumer(ITEMS, ItemRecords(stores.items, rules), own.ITEMS, GROUPS[ITEMS]),
        consumer(LOGS, events, own.LOGS, GROUPS[LOGS]),
        consumer(DEAD_LETTERS, LetterRecords(stores.letters), own.DEAD_LETTERS, GROUPS[DEAD_LETTERS]),
    ]
    try:
        serve_health(settings, ready=lambda: "; ".join(filter(None, (each.problem() for each in consumers))) or None)
        jobs.start()
        await _take_over(settings, stop)
        async with asyncio.TaskGroup() as group:
            group.create_task(_prepare(stores.events))
            group.create_task(events.watch(stop))
            for each in consumers:
                group.create_task(each.run(stop))
            await _either(archiving, stop)
            if not stop.is_set():
                consumers.append(consumer(PAGES, PageRecords(stores.archive, rules), own.ARCHIVE, ARCHIVE_GROUP))
                group.create_task(consumers[-1].run(stop))
    finally:
        jobs.stop()
        ends.close()
        producer.close()


def _when_archiving(wanted: asyncio.Event, loop: asyncio.AbstractEventLoop) -> Callable[[str, JobRules | None], None]:
    """Nobody reads `pages` a second time before there is a job that keeps an archive."""

    def look(_: str, rules: JobRules | None) -> None:
        if rules is not None and rules.archive is not None:
            loop.call_soon_threadsafe(wanted.set)

    return look


async def _prepare(events: EventIndex) -> None:
    """Import the search engine's client and make the template while partitions are waited for."""
    with suppress(InfrastructureAway):
        await asyncio.to_thread(events.prepare)
    calm_collector()


async def _take_over(settings: Settings, stop: asyncio.Event) -> None:
    """Go on where an indexer of version 0.1 was, which read all topics in one group."""
    while not stop.is_set():
        try:
            return await asyncio.to_thread(take_over_offsets, settings, FORMER_GROUP, (ITEMS, LOGS, DEAD_LETTERS))
        except InfrastructureAway as error:
            log.warning("infrastructure_away", service=SERVICE, error=str(error))
            await asyncio.sleep(AGAIN_S)
    return None


async def _either(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(each.wait()) for each in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
