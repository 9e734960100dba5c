"""`odradek up`: the embedded stack with its gateway, until Ctrl-C."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from odradek.cli.presenting import Presenter
from odradek.engines.engine import port_is_free
from odradek.engines.stack import Stack, StackOptions
from odradek.engines.state import StateFolder
from odradek.errors import UserError
from odradek.runtime.supervisor import Happened


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    fetchers: Annotated[int, typer.Option(min=1, max=64, help="Fetcher processes.")] = 1,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the gateway.")] = 8000,
    state: Annotated[Path, typer.Option(help="Folder for everything that is kept.")] = Path(".odradek/up"),
    kafka: Annotated[str | None, typer.Option(help="HOST:PORT of a Kafka that exists.")] = None,
    mongodb: Annotated[str | None, typer.Option(help="URL of a MongoDB that exists.")] = None,
    elasticsearch: Annotated[str | None, typer.Option(help="URL of an Elasticsearch that exists.")] = None,
    allow_private_networks: Annotated[  # noqa: FBT002
        bool, typer.Option("--allow-private-networks", help="Also crawl addresses that are not public.")
    ] = False,
) -> None:
    """Run the whole stack on this machine until Ctrl-C; a service that dies is started again."""
    with StateFolder(state) as folder:
        if not port_is_free(port):
            raise UserError(f"Port {port} is in use; choose another with --port.", exit_code=1)
        options = StackOptions(
            folder=folder.path,
            environ=os.environ,
            fetchers=fetchers,
            api_port=port,
            kafka=kafka,
            mongodb=mongodb,
            elasticsearch=elasticsearch,
            overrides={"ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"} if allow_private_networks else {},
        )
        asyncio.run(_run(options))


def exports_of(options: StackOptions, env: Mapping[str, str]) -> str:
    """Variables that lead to the engines which the stack has started itself; others are known to who named them."""
    own = {
        "ODRADEK_KAFKA_BOOTSTRAP": options.kafka, "ODRADEK_MONGODB_URL": options.mongodb,
        "ODRADEK_ELASTICSEARCH_URL": options.elasticsearch,
    }  # fmt: skip
    return " ".join(f"{name}={env[name]}" for name, given in own.items() if given is None)


async def _run(options: StackOptions) -> None:
    show = Presenter()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: os._exit(130) if stop.is_set() else stop.set())

    def told(happened: Happened) -> None:
        show.say(f"{happened.name} {happened.event} ({happened.detail})")

    stack = Stack(options, show.say, told)
    try:
        starting = asyncio.ensure_future(stack.start())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            show.say(f"Odradek is at {stack.api_url} (API documents at {stack.api_url}/docs); Ctrl-C stops it")
            show.say(f"Kafka is at {stack.env['ODRADEK_KAFKA_BOOTSTRAP']}")
            if exports := exports_of(options, stack.env):
                show.say(f"Where odradek doctor is to find the engines: export {exports}")
            await stopping
        else:
            starting.cancel()
        show.say("Stopping")
    finally:
        await stack.stop()
