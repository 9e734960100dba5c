"""Starting and stopping a service: signals only set an event; a second one ends the process at once."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()


def run_until_stopped(main: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    """Run `main(stop)` on a new event loop until it returns; SIGTERM and SIGINT set `stop`. Returns the exit code."""
    return asyncio.run(_run(main))


async def _run(main: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        if stop.is_set():
            os._exit(128 + number)
        log.info("stopping", signal=number.name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number)
    await main(stop)
    log.info("stopped")
    return 0


def calm_collector() -> None:
    """Collect seldom: records become values that die young without cycles, and the default looks at them all the time.

    Called once all is imported and made that stays, and again when much more was made, or given up that was to stay.
    It takes a second for some hundred thousand hosts of a frontier, and spares that second later on.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
