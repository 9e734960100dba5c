"""`odradek service NAME` and `odradek topics`: what containers run."""

import os
import sys
from enum import StrEnum
from importlib.metadata import entry_points
from typing import Annotated

import typer

from odradek.errors import UserError
from odradek.kafka.admin import apply_topics, differences
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings

GROUP = "odradek.services"


class ServiceName(StrEnum):
    """The five services."""

    scheduler = "scheduler"
    fetcher = "fetcher"
    parser = "parser"
    indexer = "indexer"
    api = "api"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(service)
    app.command()(topics)


def service(name: ServiceName) -> None:
    """Run one service with the engines that the environment names, until SIGTERM."""
    settings = Settings.read(os.environ)
    configure_logs(settings, name)
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise UserError(f"The service {name} is not installed; install the whole distribution odradek.")
    run = next(iter(found)).load()
    sys.exit(run(settings))


def topics(
    verify: Annotated[bool, typer.Option("--verify", help="Only compare, create nothing.")] = False,  # noqa: FBT002
) -> None:
    """Create Kafka's topics and verify them; run it before any service starts."""
    settings = Settings.read(os.environ)
    if verify:
        found = differences(settings)
        if found:
            raise UserError(f"Topics differ from what Odradek needs: {'; '.join(found)}.", exit_code=1)
        typer.echo("all topics are as they should be")
        return
    created = apply_topics(settings)
    typer.echo(f"{len(created)} topics created" + (f": {', '.join(created)}" if created else ""))
