"""Dry runs of one step of a service, such as `odradek fetch`: each service brings its own, by an entry point."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from odradek.errors import UserError

GROUP = "odradek.tools"


def tool(name: str) -> Callable[..., Any]:
    """The function behind a command; its parameters are the command's, its docstring the help.

    Raises:
        UserError: the service that has it is not installed.
    """
    for found in entry_points(group=GROUP, name=name):
        loaded: Callable[..., Any] = found.load()
        return loaded
    raise UserError(f"The command {name} is not installed; install the whole distribution odradek.")
