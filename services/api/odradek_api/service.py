"""Composition root of the gateway: views, producer, readers, and uvicorn around the application."""

import asyncio
from contextlib import AbstractContextManager, nullcontext

import uvicorn

from odradek.contracts import JobRecord, Progress, Reached, decode
from odradek.errors import UserError
from odradek.kafka.producer import StageProducer
from odradek.kafka.view import View
from odradek.runtime.lifecycle import run_until_stopped
from odradek.settings import Settings
from odradek.topics import JOBS, PROGRESS
from odradek_api.app import create_app
from odradek_api.core.standing import parse_progress
from odradek_api.gateway import Gateway
from odradek_api.reading import Reader
from odradek_api.security import refuse_open_door


def main(settings: Settings) -> int:
    """Serve the REST API until SIGTERM; returns the exit code."""
    refuse_open_door(settings)
    return run_until_stopped(lambda stop: _serve(settings, stop))


async def _serve(settings: Settings, stop: asyncio.Event) -> None:
    producer = StageProducer(settings)
    jobs: View[JobRecord] = View(settings, JOBS, lambda _, value: decode(JobRecord, value))
    progress: View[Progress | Reached] = View(settings, PROGRESS, parse_progress)
    gateway = Gateway(settings, producer, jobs, progress)
    reader = Reader(settings)
    recovered = asyncio.Event()

    def ready() -> str | None:
        if not (jobs.ready and progress.ready):
            return "reading the topics jobs and progress"
        return None if recovered.is_set() else "finishing submissions that were cut off"

    server = _Server(
        uvicorn.Config(
            create_app(settings, gateway, reader, ready),
            host=settings.api_host,
            port=settings.api_port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
        )
    )
    jobs.start()
    progress.start()
    recovering = asyncio.create_task(_recover(gateway, jobs, progress, recovered))
    serving = asyncio.create_task(server.serve())
    await asyncio.wait({serving, asyncio.ensure_future(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    try:
        await serving
    except SystemExit:
        raise UserError(
            f"The gateway cannot bind {settings.api_host}:{settings.api_port}; the port is in use. "
            "Choose another with --port or ODRADEK_API_PORT.",
            exit_code=1,
        ) from None
    finally:
        recovering.cancel()
        jobs.stop()
        progress.stop()
        reader.close()
        producer.close()


async def _recover(
    gateway: Gateway, jobs: View[JobRecord], progress: View[Progress | Reached], recovered: asyncio.Event
) -> None:
    for view in (jobs, progress):
        while not await asyncio.to_thread(view.wait_ready, 1.0):
            pass
    await gateway.recover()
    recovered.set()


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    def install_signal_handlers(self) -> None:
        """The lifecycle has its own."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # uvicorn's is a generator
        """No signal is captured here."""
        return nullcontext()
