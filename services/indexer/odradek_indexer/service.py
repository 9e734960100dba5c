"""Composition root: three consumers in one process on one loop; each waits for its own store only."""

import asyncio
from dataclasses import dataclass
from functools import partial

from odradek.contracts import JobRecord, decode
from odradek.kafka.producer import StageProducer
from odradek.kafka.runner import HandleMany, Runner
from odradek.kafka.view import View
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import run_until_stopped
from odradek.settings import Settings
from odradek.stores import DEAD_LETTERS as LETTERS
from odradek.stores import ITEMS as DOCUMENTS
from odradek.stores import connect_documents, connect_search
from odradek.topics import DEAD_LETTERS, ITEMS, JOBS, LOGS
from odradek_indexer import metrics
from odradek_indexer import settings as own
from odradek_indexer.consuming import SERVICE, EventRecords, ItemRecords, LetterRecords
from odradek_indexer.core.cap import EventCap
from odradek_indexer.core.job_rules import JobRules, job_rules
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore
from odradek_indexer.logs import EventIndex
from odradek_indexer.settings import Share


@dataclass(frozen=True, slots=True)
class Consumer:
    """One topic on its way into one store."""

    topic: str
    runner: Runner
    handle: HandleMany
    share: Share

    def problem(self) -> str | None:
        """What it waits for; None: nothing."""
        if not self.runner.ready:
            return f"{self.topic} waits for its partitions"
        return None if self.runner.away is None else f"{self.topic} waits: {self.runner.away}"


def main(settings: Settings) -> int:
    """Run until SIGTERM, drain, and return the exit code."""
    return run_until_stopped(partial(serve, settings))


@dataclass(frozen=True, slots=True)
class Stores:
    """Where things go."""

    items: ItemStore
    events: EventIndex
    letters: DeadLetterStore


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Index into the stores that the settings name until `stop` is set."""
    database, engine = connect_documents(settings), connect_search(settings)
    cap = EventCap(settings.log_events_max)
    try:
        stores = Stores(
            ItemStore(database[DOCUMENTS]),
            EventIndex(engine, retention_days=own.RETENTION_DAYS, cap=cap),
            DeadLetterStore(database[LETTERS]),
        )
        await index(settings, stop, stores)
    finally:
        engine.close()
        database.client.close()


async def index(settings: Settings, stop: asyncio.Event, stores: Stores) -> None:
    """Index until `stop` is set."""
    jobs: View[JobRules] = View(settings, JOBS, lambda _, value: job_rules(decode(JobRecord, value)))
    producer = StageProducer(settings)
    handlers: tuple[tuple[str, HandleMany, Share], ...] = (
        (ITEMS, ItemRecords(stores.items, jobs), own.ITEMS),
        (LOGS, EventRecords(stores.events), own.LOGS),
        (DEAD_LETTERS, LetterRecords(stores.letters), own.DEAD_LETTERS),
    )
    consumers = [
        Consumer(topic, Runner(settings, SERVICE, topic, producer, share.window), handle, share)
        for topic, handle, share in handlers
    ]
    try:
        jobs.start()
        _show(settings, consumers)
        async with asyncio.TaskGroup() as group:
            for each in consumers:
                group.create_task(each.runner.run_batches(each.handle, stop, each.share.batch))
    finally:
        jobs.stop()
        producer.close()


def _show(settings: Settings, consumers: list[Consumer]) -> None:
    for each in consumers:
        metrics.AWAY.labels(each.topic).set_function(partial(_is_away, each.runner))
        metrics.IN_HAND.labels(each.topic).set_function(partial(_in_hand, each.runner))
    serve_health(settings, ready=lambda: "; ".join(filter(None, (each.problem() for each in consumers))) or None)


def _is_away(runner: Runner) -> float:
    return 0.0 if runner.away is None else 1.0


def _in_hand(runner: Runner) -> float:
    return float(runner.intake.in_hand)
