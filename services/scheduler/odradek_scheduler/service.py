"""Puts the scheduler together and runs it until SIGTERM."""

import asyncio
import contextlib
import gc
import logging
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final

import structlog

from odradek.agents import product_token
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import run_until_stopped
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek.topics import FRONTIER, QUESTIONS
from odradek_scheduler.app import SchedulerApp, create_app
from odradek_scheduler.completing import Completing
from odradek_scheduler.core.partition import Limits
from odradek_scheduler.dispatching import Dispatcher
from odradek_scheduler.layout import read_layout
from odradek_scheduler.measuring import keep_figures, watch_loop
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Ownership
from odradek_scheduler.questions import Answerer
from odradek_scheduler.rebalancing import Rebalancing
from odradek_scheduler.reporting import Reporter
from odradek_scheduler.settings import SERVICE, STOP_DEADLINE_S, claim_state_folder
from odradek_scheduler.takeover import TakeOver

log = structlog.get_logger()

FAUST_SUBCLASSES: Final = ("app", "producer", "recovery", "tables", "transport")
"""Modules in whose name Faust tells every step of its services."""


class Scheduler:
    """All parts of one scheduler process, on a running event loop."""

    def __init__(self, settings: Settings, app: SchedulerApp, counts: dict[str, int]) -> None:
        self.app = app
        self.ends = Ends(settings)
        self.outbox = Outbox(app.outgoing, counts)
        limits = Limits(
            user_agent=product_token(settings.user_agent), unparsed_lease_ms=round(settings.unparsed_lease * 1000)
        )
        self.ownership = Ownership(app.frontier_tables, self.outbox, counts[FRONTIER], limits)
        self.dispatcher = Dispatcher(self.ownership, self.outbox, settings.in_flight)
        self.reporter = Reporter(self.ownership, self.outbox)
        self.completing = Completing(settings, self.ownership, self.outbox, counts[FRONTIER])
        self.take_over = TakeOver(self.ends, released=self._news)
        self.rebalancing = Rebalancing(app, app.changelog_reader, self.ownership, self.take_over, self._settled)
        self._loops: list[asyncio.Task[None]] = []
        self.ownership.on_fold(self._news)
        self.ownership.on_fold(self.take_over.folded)
        app.handle(FRONTIER, self.ownership.fold, self.ownership.gap)
        app.handle(QUESTIONS, Answerer(self.ownership, self.outbox).answer)
        app.on_partitions_revoked.connect(self._revoked, weak=False)
        app.on_partitions_assigned.connect(self._assigned, weak=False)
        app.on_rebalance_complete.connect(self._recovered, weak=False)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`, then let Faust flush and commit.

        Raises:
            Exception: what a batch could not be handled for, or what stopped Faust.
        """
        await self._first(self.app.start(), self.app.failure, stop.wait())
        if not stop.is_set():
            self._start_loops()
            failures = (self.app.failure, self.take_over.failure)
            await self._first(self.app.wait_until_stopped(), *failures, stop.wait(), *self._loops)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self.app.stop()
        self.app.stores.close_all()
        self.ends.close()

    def missing(self) -> str | None:
        """What readiness waits for; None: ready."""
        if not self.ownership.steady:
            return "recovering its tables"
        return "waiting for its predecessor's requests" if self.take_over.running else None

    def _start_loops(self) -> None:
        loops: list[Coroutine[Any, Any, None]] = [
            self.dispatcher.run(),
            self.reporter.run(),
            self.reporter.run_hosts(),
            self.completing.run(),
            self.rebalancing.watch(),
            keep_figures(self.ownership),
            watch_loop(),
        ]
        self._loops = [asyncio.create_task(loop) for loop in loops]

    async def _first(self, *waits: Any) -> None:
        """Wait for the first of these; raise what it, or Faust itself, failed with."""
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if self.app.crashed:
            raise self.app.crash_reason or InfrastructureAway("Faust stopped")

    def _news(self) -> None:
        self.dispatcher.wake()
        self.reporter.folded()

    def _settled(self) -> None:
        self._news()
        self.completing.settled()

    async def _revoked(self, *_: Any, **__: Any) -> None:
        await self.rebalancing.revoked()

    async def _assigned(self, *_: Any, **__: Any) -> None:
        self.rebalancing.assigned()

    async def _recovered(self, *_: Any, **__: Any) -> None:
        await self.rebalancing.recovered()


def main(settings: Settings) -> int:
    """Run the scheduler until SIGTERM or SIGINT; returns the exit code.

    Raises:
        UserError: a setting or the state folder is wrong.
    """
    configure_logs(settings, SERVICE)
    for module in FAUST_SUBCLASSES:
        logging.getLogger(f"odradek_scheduler.{module}").setLevel(logging.WARNING)
    folder = claim_state_folder(settings)

    async def run(stop: asyncio.Event) -> None:
        counts = await _layout(settings, stop)
        if counts is None:
            return
        scheduler = Scheduler(settings, create_app(settings, folder, counts[FRONTIER]), counts)
        serve_health(settings, ready=scheduler.missing)
        watch = asyncio.create_task(_end_after(stop))
        try:
            await scheduler.run(stop)
        except Exception:
            log.exception("crashed")
            os._exit(1)
        watch.cancel()

    code = run_until_stopped(run)
    gc.freeze()  # all is closed: nothing is gained by looking through a million objects before the process ends
    return code


async def _layout(settings: Settings, stop: asyncio.Event) -> dict[str, int] | None:
    """The topics' partition counts, waited for until the brokers know them; None: asked to stop."""
    while not stop.is_set():
        try:
            return await asyncio.to_thread(read_layout, settings)
        except InfrastructureAway as error:
            log.warning("waiting_for_kafka", error=str(error))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
    return None


async def _end_after(stop: asyncio.Event) -> None:
    """A Faust worker can ignore that it should stop (rule N): what is not committed by then is folded again."""
    await stop.wait()
    timer = threading.Timer(STOP_DEADLINE_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
