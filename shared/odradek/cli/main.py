"""Puts the commands together and turns trouble into one sentence and an exit code."""

import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from odradek.errors import InfrastructureAway, UserError

COMMANDS = {
    "crawl": "crawl",
    "up": "up",
    "jobs": "jobs",
    "explain": "asking",
    "logs": "asking",
    "items": "asking",
    "hosts": "asking",
    "dead-letters": "asking",
    "service": "services",
    "topics": "services",
    "keys": "keys",
    "doctor": "doctor",
}
"""Each command and the module that has it, in the order of the help."""

HELP = "A Kafka-native web crawler that accounts for every URL."


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command line as far as these arguments need it: a service is not to wait for what the others import."""
    app = typer.Typer(name="odradek", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(help=HELP)(lambda: None)
    home = COMMANDS.get(arguments[0]) if arguments else None
    for module in dict.fromkeys([home] if home is not None else COMMANDS.values()):
        import_module(f"odradek.cli.{module}").register(app)
    return app


def main() -> None:
    """Run the command; what a person did wrong is one sentence on standard error and exit code 2 or 1."""
    try:
        application(sys.argv[1:])()
    except UserError as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(error.exit_code)
    except InfrastructureAway as error:
        print(f"odradek: {error}", file=sys.stderr)  # noqa: T201  (this is the command's voice)
        sys.exit(1)
