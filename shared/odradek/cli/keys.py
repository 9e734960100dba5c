"""`odradek keys`: API keys; the gateway is told their hashes, or a file in which a stack keeps one for itself."""

import os
import re
from pathlib import Path

import typer

from odradek.cli.tables import AsJson, print_json, show, wants_json
from odradek.errors import UserError
from odradek.keys import hashed, make_key_file, new_key, read_key
from odradek.settings import Settings

_NAME = re.compile(r"[\w.-]{1,64}\Z", re.ASCII)

keys_app = typer.Typer(help="Make and list API keys.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(keys_app, name="keys")


@keys_app.command("new")
def new(name: str, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Make a key for NAME; it is shown once. Add the line to ODRADEK_API_KEYS and restart the gateway."""
    if not _NAME.match(name):
        raise UserError(f"{name!r} is no name for a key; use letters, digits, . _ and -.")
    key = new_key()
    entry = f"{name}:{hashed(key)}"
    others = Settings.read(os.environ).api_keys
    if any(each.partition(":")[0] == name for each in others):
        raise UserError(f"There is a key named {name} already; choose another name, or take it out first.")
    if wants_json(as_json=as_json):
        print_json({"name": name, "key": key, "entry": entry})
        return
    typer.echo(f"key (shown once, sent as X-API-Key or in ODRADEK_API_KEY): {key}")
    typer.echo(f"for the gateway: ODRADEK_API_KEYS={','.join((*others, entry))}")


@keys_app.command("list")
def list_keys(as_json: AsJson = False) -> None:  # noqa: FBT002
    """Names of the keys in ODRADEK_API_KEYS, with the beginning of their hashes."""
    entries = (each.partition(":") for each in Settings.read(os.environ).api_keys)
    show([{"name": name, "sha256": f"{digest[:12]}…"} for name, _, digest in entries], as_json=as_json, empty="no keys")


@keys_app.command("init")
def init() -> None:
    """Write a new key to ODRADEK_API_KEY_FILE, unless there is one already."""
    file = _file()
    typer.echo(f"{file} is made" if make_key_file(file) else f"{file} is there already")


@keys_app.command("show")
def show_key() -> None:
    """Print the key in ODRADEK_API_KEY_FILE."""
    typer.echo(read_key(_file()))


def _file() -> Path:
    file = Settings.read(os.environ).api_key_file
    if file is None:
        raise UserError("ODRADEK_API_KEY_FILE is not set; it names the file in which a stack keeps its key.")
    return file
