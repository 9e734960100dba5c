"""API keys: the hashes that the gateway knows, and a key that a stack makes for itself."""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from odradek.errors import UserError
from odradek.settings import Settings

STACK: Final = "stack"
"""Name of the key in ODRADEK_API_KEY_FILE."""
_KEY_BYTES: Final = 32
_ENTRY: Final = re.compile(r"([\w.-]+):([0-9a-f]{64})\Z", re.ASCII)


def new_key() -> str:
    """A key of 256 random bits, in characters that travel in a header."""
    return secrets.token_urlsafe(_KEY_BYTES)


def hashed(key: str) -> str:
    """What is kept of a key; keys are 256 random bits, so a plain hash gives nothing away."""
    return hashlib.sha256(key.encode()).hexdigest()


def known_keys(settings: Settings) -> dict[str, str]:
    """Names and hashes of the keys that the gateway accepts.

    Those of ODRADEK_API_KEYS; where there are none, the one in ODRADEK_API_KEY_FILE.

    Raises:
        UserError: an entry is not NAME:SHA-256, or the file cannot be read.
    """
    matches = [_ENTRY.match(entry) for entry in settings.api_keys]
    if None in matches:
        raise UserError("ODRADEK_API_KEYS is wrong: each entry is NAME:SHA-256; odradek keys new NAME prints one.")
    known = {match[1]: match[2] for match in matches if match is not None}
    if not known and settings.api_key_file is not None:
        known = {STACK: hashed(read_key(settings.api_key_file))}
    return known


def read_key(file: Path) -> str:
    """The key in a file.

    Raises:
        UserError: it cannot be read, or holds none.
    """
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise UserError(
            f"ODRADEK_API_KEY_FILE {file} cannot be read; odradek keys init makes it.", exit_code=1
        ) from None
    if not key:
        raise UserError(f"ODRADEK_API_KEY_FILE {file} is empty; delete it and run odradek keys init.", exit_code=1)
    return key


def make_key_file(file: Path) -> bool:
    """Write a new key to a file that only its owner reads; False: there is one already, and it stays.

    Raises:
        UserError: the file cannot be written.
    """
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(f"{new_key()}\n")
        try:
            os.link(part, file)
        except FileExistsError:
            return False
        finally:
            part.unlink()
    except OSError as error:
        raise UserError(f"ODRADEK_API_KEY_FILE {file} cannot be written: {error.strerror}.", exit_code=1) from None
    return True


def key_to_send(environ: Mapping[str, str]) -> str | None:
    """The key that a command shows the gateway: ODRADEK_API_KEY, or the one in ODRADEK_API_KEY_FILE if it is there."""
    if key := environ.get("ODRADEK_API_KEY"):
        return key
    file = environ.get("ODRADEK_API_KEY_FILE")
    return read_key(Path(file)) if file else None
