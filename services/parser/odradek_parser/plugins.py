"""Functions of others that read pages: only those that `ODRADEK_PLUGINS` names, called with a BeautifulSoup."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from bs4 import BeautifulSoup

from odradek.contracts import PageMeta
from odradek_parser.core.rules import Page, Record

Plugin = Callable[[BeautifulSoup, PageMeta], Iterable[Mapping[str, Any]]]
"""Yields records; their `type`, if they have one, is the item type, else the function's name is."""


class PluginRefused(Exception):  # noqa: N818  (a decision, not a defect)
    """The plugin is not allowed here, or cannot be imported."""


def load(names: Sequence[str], allowed: Sequence[str]) -> tuple[Callable[[Page], Iterator[Record]], ...]:
    """The plugins of a job.

    Raises:
        PluginRefused: names the plugin and what to do.
    """
    return tuple(_load(name, allowed) for name in names)


def _load(name: str, allowed: Sequence[str]) -> Callable[[Page], Iterator[Record]]:
    if name not in allowed:
        raise PluginRefused(f"the plugin {name} is not allowed here; add it to ODRADEK_PLUGINS")
    module, _, attribute = name.partition(":")
    try:
        function: Plugin = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginRefused(f"the plugin {name} cannot be imported: {error}") from None
    return lambda page: _records(function, attribute, page)


def _records(function: Plugin, name: str, page: Page) -> Iterator[Record]:
    """A plugin that fails spoils its own records only."""
    if page.document.kind not in ("html", "xml"):
        return
    position = 0
    try:
        for position, found in enumerate(function(page.document.soup.soup, page.meta)):
            data = dict(found)
            yield Record(str(data.pop("type", name)), position, data)
    except Exception as error:  # noqa: BLE001  (whatever other people's code raises)
        yield Record(name, position, {}, problems=(f"the plugin fails: {type(error).__name__}: {error}",))
