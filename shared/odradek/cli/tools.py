"""Dry runs of one step of a service, such as `odradek fetch`: each service brings its own, by an entry point."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

from odradek.contracts import PageMeta
from odradek.errors import UserError
from odradek.specification import JobSpecification

GROUP = "odradek.tools"
MOST_HOPS: Final = 5


def tool(name: str) -> Callable[..., Any]:
    """The function behind a command; its parameters are the command's, its docstring the help.

    Raises:
        UserError: the service that has it is not installed.
    """
    for found in entry_points(group=GROUP, name=name):
        loaded: Callable[..., Any] = found.load()
        return loaded
    raise UserError(f"The command {name} is not installed; install the whole distribution odradek.")


def page_of(url: str, spec: JobSpecification, **options: Any) -> tuple[bytes | None, PageMeta]:
    """A page as `fetch_page` gives it, each redirect a fetch guarded like the first; after MOST_HOPS the last redirect.

    What the job sends as headers, cookies, credentials and body is for the place that is asked first, and no other.

    Raises:
        UserError: the URL cannot be crawled, or the specification not be carried out here.
    """
    fetch_page, first = tool("fetch_page"), url
    for _ in range(MOST_HOPS + 1):
        body, meta = fetch_page(url, spec, meant_for=first, **options)
        if meta.outcome != "redirected" or meta.location is None:
            break
        url = meta.location
    return body, meta
