"""Answers of the gateway on standard output: tables for a person on a terminal, JSON for everybody else."""

import json
import os
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from odradek.cli.rest import Rest
from odradek.contracts import LATEST_MS, timestamp
from odradek.keys import key_to_send

Api = Annotated[str, typer.Option("--api", envvar="ODRADEK_API_URL", help="Address of the gateway.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LONG_AGO_MS = 10**12
"""In 2001: what is more is an instant, what is less a span of time."""
LOCAL = "http://127.0.0.1:8000"


def rest(api: str) -> Rest:
    """The gateway, with the key of the environment."""
    return Rest(api, key_to_send(os.environ))


def wants_json(*, as_json: bool) -> bool:
    """True for `--json`, and where no person looks."""
    return as_json or not sys.stdout.isatty()


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(json.dumps(value, ensure_ascii=False))  # noqa: T201  (the command's output)


def show(value: Any, *, as_json: bool, empty: str = "nothing") -> None:
    """A row, or a list of rows."""
    if wants_json(as_json=as_json):
        print_json(value)
        return
    rows = value if isinstance(value, list) else [value]
    if not rows:
        print(empty)  # noqa: T201  (the command's output)
        return
    console = Console(highlight=False, markup=False, emoji=False)  # what sites say is never a style
    console.print(_upright(rows[0]) if isinstance(value, dict) else _table(rows))


def page(found: dict[str, Any], columns: tuple[str, ...], *, as_json: bool, empty: str) -> None:
    """A page of a list: whole as JSON, some columns as a table."""
    if wants_json(as_json=as_json):
        print_json(found)
        return
    show([{name: row.get(name) for name in columns} for row in found["data"]], as_json=False, empty=empty)
    if found["next_cursor"] is not None:
        print(f"more: --cursor '{found['next_cursor']}'")  # noqa: T201  (the command's output)


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(name, row.get(name)) for name in columns))
    return table


def _upright(row: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None)
    for name, value in row.items():
        if value is not None:
            table.add_row(name, _cell(name, value))
    return table


def _cell(name: str, value: Any) -> str:
    if name.endswith("_ms") and isinstance(value, int) and LONG_AGO_MS < value <= LATEST_MS:
        return timestamp(value)
    if isinstance(value, dict | list):
        return _plain(json.dumps(value, ensure_ascii=False))
    return "" if value is None else _plain(str(value))


def _plain(text: str) -> str:
    """Without what steers a terminal, or turns the direction of writing: sites and their errors may hold it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
