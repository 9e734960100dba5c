"""Composition root of the gateway: views, producer, stores, and uvicorn around the application."""

import asyncio
import os
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import structlog
import uvicorn
from confluent_kafka import KafkaException

from odradek.contracts import HostReport, JobRecord, Progress, Reached, WebhookDelivery, decode
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.ends import Ends
from odradek.kafka.members import Members
from odradek.kafka.producer import StageProducer
from odradek.kafka.view import View
from odradek.runtime.health import serve_health
from odradek.runtime.lifecycle import run_until_stopped
from odradek.settings import Settings
from odradek.stores import connect_documents, connect_search
from odradek.topics import FRONTIER, GATEWAYS_GROUP, HOSTS, JOBS, PROGRESS, WEBHOOKS
from odradek_api.app import create_app
from odradek_api.asking import Asker
from odradek_api.changing import ChangeFeed
from odradek_api.core.absences import Absences
from odradek_api.core.standing import parse_progress, state_of, supersedes
from odradek_api.freshening import keep_fresh_figures
from odradek_api.gateway import Gateway
from odradek_api.hosts import Hosts
from odradek_api.inquiring import Inquiry
from odradek_api.lease import Lease
from odradek_api.notifying import Change, Deliveries, Notifier
from odradek_api.paces import Paces
from odradek_api.parts import Parts
from odradek_api.posting import Poster
from odradek_api.purging import Pipeline, Purge
from odradek_api.reading import Reader
from odradek_api.reparsing import KafkaPages, Reparsing
from odradek_api.replaying import Replay
from odradek_api.security import refuse_open_door
from odradek_api.tracing import TracedLog

HEAL_EVERY_S = 5.0
ASKED_AT_ONCE = 32
"""Questions to stores and to Kafka; some take seconds, and the others shall not wait for them."""
TELL_EVERY_S = 0.25
COUNT_EVERY_S = 5.0
log = structlog.get_logger()


def main(settings: Settings) -> int:
    """Serve the REST API until SIGTERM; returns the exit code."""
    refuse_open_door(settings)
    return run_until_stopped(lambda stop: _Service(settings).serve(stop))


class _Service:
    """Everything that lives as long as the process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = StageProducer(settings)
        self._jobs: View[JobRecord] = View(settings, JOBS, lambda _, value: decode(JobRecord, value))
        self._progress: View[Progress | Reached] = View(settings, PROGRESS, parse_progress, supersedes)
        self._hosts: View[HostReport] = View(settings, HOSTS, lambda _, value: decode(HostReport, value))
        self._log = TracedLog(self._producer)
        self._asker = Asker(settings, self._log)
        self._reader = Reader(connect_documents(settings), connect_search(settings), self._jobs)
        self._ends = Ends(settings)
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        self._gateway = Gateway(settings, self._log, self._jobs, self._progress, name)
        self._deliveries = Deliveries()
        self._webhooks: View[WebhookDelivery] = View(
            settings, WEBHOOKS, lambda _, value: decode(WebhookDelivery, value)
        )
        self._lease = Lease(settings, GATEWAYS_GROUP, name)
        self._post = Poster(os.environ, allow_private=settings.allow_private_networks)
        self._notifier = Notifier(self._log, self._deliveries, self._gateway.standing, self._post)
        self._views: tuple[View[Any], ...] = (self._jobs, self._progress, self._hosts, self._webhooks)
        self._listen()
        self._paces, self._members = Paces(), Members(settings)
        self._recovered = asyncio.Event()

    async def serve(self, stop: asyncio.Event) -> None:
        """Until `stop`."""
        threads = ThreadPoolExecutor(ASKED_AT_ONCE, "asking")
        asyncio.get_running_loop().set_default_executor(threads)
        server = _Server(
            uvicorn.Config(
                create_app(self._parts()),
                host=self._settings.api_host,
                port=self._settings.api_port,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=5,
            )
        )
        serve_health(self._settings, ready=self._ready)
        self._asker.start()
        for view in self._views:
            view.start()
        self._lease.start()
        healing = asyncio.create_task(self._heal())
        telling = asyncio.create_task(self._tell())
        counting = asyncio.create_task(self._count())
        freshening = asyncio.create_task(self._keep_fresh_figures())
        serving = asyncio.create_task(server.serve())
        await asyncio.wait(
            {serving, healing, telling, asyncio.ensure_future(stop.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        server.should_exit = True
        try:
            await serving
            for task in (healing, telling):
                if task.done():
                    task.result()
        except SystemExit:
            raise UserError(
                f"The gateway cannot bind {self._settings.api_host}:{self._settings.api_port}; the port is in use. "
                "Choose another with --port or ODRADEK_API_PORT.",
                exit_code=1,
            ) from None
        finally:
            healing.cancel()
            telling.cancel()
            counting.cancel()
            freshening.cancel()
            await self._notifier.follow()
            await self._post.close()
            self._close()

    def _parts(self) -> Parts:
        settings, kafka, gateway = self._settings, self._log, self._gateway
        return Parts(
            settings=settings,
            gateway=gateway,
            paces=self._paces,
            results=self._reader,
            hosts=Hosts(kafka, self._hosts),
            inquiry=Inquiry(settings, kafka, self._asker),
            replay=Replay(settings, kafka, self._reader),
            purge=Purge(gateway, self._reader, Pipeline(self._ends)),
            reparsing=Reparsing(gateway, KafkaPages(settings)),
            deliveries=self._deliveries,
            changes=ChangeFeed(settings),
            ready=self._ready,
        )

    def _ready(self) -> str | None:
        if not (self._jobs.ready and self._progress.ready):
            return "reading the topics jobs and progress"
        return None if self._recovered.is_set() else "finishing submissions that were cut off"

    async def _heal(self) -> None:
        """Once the views are read, finish what was cut off, and again whatever is cut off later."""
        for view in (self._jobs, self._progress):
            while not await asyncio.to_thread(view.wait_ready, 1.0):
                pass
        absences = Absences()
        while True:
            try:
                if self._recovered.is_set():
                    await self._heal_once(absences)
                else:
                    await asyncio.to_thread(self._producer.partitions, FRONTIER)
                    await self._gateway.recover()
                    self._recovered.set()
            except InfrastructureAway as error:
                log.warning("healing_waits_for_kafka", error=str(error))
            await asyncio.sleep(HEAL_EVERY_S)

    async def _heal_once(self, absences: Absences) -> None:
        """What was begun here; and what gateways that are gone have begun, if this one holds the lease."""
        await self._gateway.heal()
        if not self._lease.held:
            return
        present = await asyncio.to_thread(self._lease.members)
        gone, has_left = absences.look(self._gateway.begun_by(), present, time.monotonic())
        if has_left:
            # It may have noted a change and not told every partition.
            await self._gateway.recover()
        if gone:
            log.info("healing_for_others", gone=sorted(gone))
            await self._gateway.heal(gone)

    async def _keep_fresh_figures(self) -> None:
        await self._recovered.wait()
        await keep_fresh_figures(self._gateway.records, self._reader)

    async def _count(self) -> None:
        """Which services are at work; only a hint for people, so trouble is not even logged."""
        while True:
            with suppress(KafkaException):
                found = await asyncio.to_thread(self._members.count)
                self._paces.running = {name: count for name, count in found.items() if isinstance(count, int)}
            await asyncio.sleep(COUNT_EVERY_S)

    def _listen(self) -> None:
        """What comes through the views' threads is news for webhooks."""
        self._webhooks.on_change(self._deliveries.heard)
        self._jobs.on_change(lambda job, _: self._notifier.noticed(*self._change(job)))
        self._progress.on_change(self._heard)

    def _heard(self, key: str, told: Progress | Reached | None) -> None:
        """An end is told of a job; that a run begins, only by what its home partition reports."""
        job, _, partition = key.partition(":")
        if not partition or (isinstance(told, Progress) and told.plan is not None and told.run > 1):
            self._notifier.noticed(*self._change(job))

    def _change(self, job: str) -> Change:
        record, reached = self._jobs.get(job), self._progress.get(job)
        if record is None:
            return job, None, None, 0
        record = self._gateway.hearing.in_its_run(record)
        reached = reached if isinstance(reached, Reached) else None
        return job, record, state_of(record, reached), record.epoch

    async def _tell(self) -> None:
        """Deliver webhooks while this gateway holds the lease."""
        for view in (self._jobs, self._progress, self._webhooks):
            while not await asyncio.to_thread(view.wait_ready, 1.0):
                pass
        while True:
            try:
                if self._lease.held:
                    self._notifier.lead(self._change(job) for job, _ in self._jobs.items())
                    await self._notifier.step()
                else:
                    await self._notifier.follow()
            except InfrastructureAway as error:
                log.warning("webhooks_wait_for_kafka", error=str(error))
            await asyncio.sleep(TELL_EVERY_S)

    def _close(self) -> None:
        self._asker.stop()
        self._lease.stop()
        for view in self._views:
            view.stop()
        self._reader.close()
        self._ends.close()
        self._producer.close()


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    def install_signal_handlers(self) -> None:
        """The lifecycle has its own."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # uvicorn's is a generator
        """No signal is captured here."""
        return nullcontext()
