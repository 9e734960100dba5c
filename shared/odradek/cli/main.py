"""Puts the commands together and turns trouble into one sentence and an exit code."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import typer

from odradek.errors import InfrastructureAway, UserError


@dataclass(frozen=True, slots=True)
class Command:
    """A command without what it imports."""

    module: str | None
    """Of this package, with a function `register`; null: a tool of a service (`odradek.cli.tools`)."""
    help: str


COMMANDS = {
    "crawl": Command(
        "crawl",
        "Crawl a site to its end on this machine and write its items; the same command again resumes or reports.",
    ),
    "up": Command("up", "Run the whole stack on this machine until Ctrl-C; a service that dies is started again."),
    "jobs": Command("jobs", "Submit, watch and steer jobs."),
    "explain": Command("asking", "Why a URL was or would be fetched, skipped or refused by a job."),
    "fetch": Command(None, "Fetch one URL as the fetcher would, and tell what came of it."),
    "extract": Command(None, "Show what each rule finds on a page, with which parser, and why fields are empty."),
    "logs": Command("asking", "Search crawl events, newest first."),
    "items": Command("asking", "Items of a job in the order of their ids."),
    "hosts": Command("asking", "What is known of hosts, and overrides."),
    "dead-letters": Command("asking", "Messages that could not be processed."),
    "service": Command("services", "Run one service with the engines that the environment names, until SIGTERM."),
    "topics": Command("services", "Create Kafka's topics and verify them; run it before any service starts."),
    "keys": Command("keys", "Make and list API keys."),
    "doctor": Command("doctor", "Look at settings, Kafka, topics, services, MongoDB, Elasticsearch and the gateway."),
}
"""Every command in the order of the help."""

HELP = "A Kafka-native web crawler that accounts for every URL."
_COMPLETING = "_ODRADEK_COMPLETE"
"""Set by the shell that completes a command line."""


def application(arguments: Sequence[str], *, whole: bool = False) -> typer.Typer:
    """The command line as far as these arguments need it: nobody is to wait for what the other commands import.

    Without a command there is only the help to print; `whole`: all of it, with every option.
    """
    app = typer.Typer(
        name="odradek", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings={"max_content_width": 120},
    )  # fmt: skip
    app.callback(help=HELP)(lambda: None)
    known = [arguments[0]] if arguments and arguments[0] in COMMANDS else []
    if not known and not whole:
        for name, command in COMMANDS.items():
            app.command(name, help=command.help)(lambda: None)
        return app
    wanted = known or list(COMMANDS)
    for module in dict.fromkeys(COMMANDS[name].module for name in wanted):
        if module is not None:
            import_module(f"odradek.cli.{module}").register(app)
    for name in wanted:
        if COMMANDS[name].module is None:
            app.command(name)(import_module("odradek.cli.tools").tool(name))
    return app


def main() -> None:
    """Run the command; what a person did wrong is one sentence on standard error and exit code 2 or 1."""
    try:
        application(sys.argv[1:], whole=_COMPLETING in os.environ)()
    except UserError as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(error.exit_code)
    except InfrastructureAway as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(1)
