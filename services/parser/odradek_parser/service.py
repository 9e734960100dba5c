"""The parser as a process: pages come in; links, items and outcomes go out (rule E)."""

import asyncio
from collections.abc import Coroutine
from functools import partial

from odradek.agents import product_token
from odradek.kafka.job_records import JobRecords
from odradek.kafka.producer import StageProducer
from odradek.kafka.runner import Runner
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import calm_collector, run_until_stopped
from odradek.settings import Settings
from odradek.topics import PAGES
from odradek_parser import settings as own
from odradek_parser.core.facts import SERVICE
from odradek_parser.guard import Guard, ProcessGuard, limit_memory
from odradek_parser.handling import Handler
from odradek_parser.jobs import Readers
from odradek_parser.reparsing import Reparses


def main(settings: Settings) -> int:
    """Run until SIGTERM, drain, and return the exit code."""
    limit_memory()
    guard = ProcessGuard(settings.state_dir / f"parser-{settings.instance}.page")
    return run_until_stopped(partial(serve, settings, guard=guard))


async def serve(settings: Settings, stop: asyncio.Event, *, guard: Guard | None = None) -> None:
    """Parse until `stop` is set."""
    jobs = JobRecords(settings)
    producer = StageProducer(settings)
    runner = Runner(settings, SERVICE, PAGES, producer, own.WINDOW)
    handler = Handler(jobs.record, _readers(settings), guard=guard)
    again = Reparses(settings, jobs.view.items, producer, _readers(settings), guard)
    serve_health(settings, ready=lambda: _missing(jobs, runner))
    jobs.view.start()
    calm_collector()
    try:
        await _both(runner.run_batches(handler.handle, stop, own.BATCH), again.run(stop), stop)
    finally:
        jobs.stop()
        await asyncio.to_thread(producer.close)


def _readers(settings: Settings) -> Readers:
    return Readers(product=product_token(settings.user_agent), plugins=settings.plugins)


async def _both(
    parsing: Coroutine[None, None, None], rereading: Coroutine[None, None, None], stop: asyncio.Event
) -> None:
    """Until both have ended; when one of them fails the other one stops too, and the failure is raised."""
    tasks = [asyncio.create_task(parsing), asyncio.create_task(rereading)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    stop.set()
    await asyncio.gather(*tasks)


def _missing(jobs: JobRecords, runner: Runner) -> str | None:
    if not jobs.view.ready:
        return "jobs are being read"
    if not runner.ready:
        return "no partitions are assigned yet"
    return runner.away
