"""`odradek keys`: API keys, made here and kept nowhere; the gateway knows only their hashes."""

import hashlib
import os
import re
import secrets

import typer

from odradek.cli.tables import AsJson, print_json, show, wants_json
from odradek.errors import UserError
from odradek.settings import Settings

KEY_BYTES = 32
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
    key = secrets.token_urlsafe(KEY_BYTES)
    entry = f"{name}:{hashlib.sha256(key.encode()).hexdigest()}"
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
