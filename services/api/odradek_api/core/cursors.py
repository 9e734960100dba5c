"""Cursors of lists that have no single key to go on from: a place, as text that says nothing to anybody else."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec

from odradek_api.core.problems import no_such_cursor

MOST_DIGITS = 18


def is_number(text: str) -> bool:
    """True for some decimal digits, few enough for any program to make a number of."""
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def cursor_of(place: list[Any]) -> str:
    """The place as text."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_in(cursor: str, fits: Callable[[list[Any]], bool]) -> list[Any]:
    """The place in a cursor.

    Raises:
        Problem: 400 for a cursor that is none, or whose place does not fit the list.
    """
    try:
        place = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, msgspec.DecodeError, RecursionError):
        place = None
    if not isinstance(place, list) or not fits(place):
        raise no_such_cursor(cursor)
    return place
