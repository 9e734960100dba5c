"""Puts the commands together and turns trouble into one sentence and an exit code."""

import sys

import typer

from odradek.cli import crawl, jobs, services, up
from odradek.errors import InfrastructureAway, UserError

app = typer.Typer(
    name="odradek",
    help="A Kafka-native web crawler that accounts for every URL.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
services.register(app)
crawl.register(app)
up.register(app)
jobs.register(app)


def main() -> None:
    """Run the command; what a person did wrong is one sentence on standard error and exit code 2 or 1."""
    try:
        app()
    except UserError as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(error.exit_code)
    except InfrastructureAway as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(1)
