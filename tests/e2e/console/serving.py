"""Serves a gateway in this process; with a furnished stage, to look at the console while it is changed.

python -m tests.e2e.console.serving --port 8077
"""

import argparse
import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from tests.component.api.fakes import World
from tests.e2e.console.staged import Stage

from odradek_api.app import create_app


@contextmanager
def served(world: World, port: int = 0, each_second: Callable[[], None] = lambda: None) -> Iterator[str]:
    """The gateway of this world on a port of loopback, until the end of the block; gives its address."""
    config = uvicorn.Config(create_app(world.parts()), "127.0.0.1", port, log_config=None, timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined,unused-ignore]  # a thread has none
    started = threading.Event()

    async def run() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started and not serving.done():  # noqa: ASYNC110  (uvicorn sets no event)
            await asyncio.sleep(0.01)
        started.set()
        while not serving.done():
            await asyncio.wait({serving}, timeout=1)
            each_second()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    started.wait(20)
    try:
        bound = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{bound}"
    finally:
        server.should_exit = True
        thread.join(20)


def main() -> None:
    """Serve a furnished stage until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8077)
    given = parser.parse_args()
    stage = Stage().furnish()
    with served(stage.world, given.port, stage.tick) as address:
        print(address, flush=True)  # noqa: T201  (the address is what this command says)
        threading.Event().wait()


if __name__ == "__main__":
    main()
