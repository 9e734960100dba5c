"""How deep data may be nested that is to be stored: sites and plugins nest as they like, stores do not."""

from collections.abc import Iterable
from typing import Any

_NESTS = frozenset({dict, list})
"""What decoders of JSON make."""

MAX_DEPTH = 100
"""Levels below a record's `data`. MongoDB promises no more; what reads records afterwards may count on it."""


def deeper_than(value: Any, most: int) -> bool:
    """True when objects and lists lie in one another for more than `most` levels; `value` itself is the first."""
    level = [value] if type(value) in _NESTS else []
    for _ in range(most):
        if not level:
            return False
        inside = (each if type(each) is list else each.values() for each in level)
        level = [inner for each in inside for inner in each if type(inner) in _NESTS]
    return bool(level)


def is_flat(values: Iterable[Any]) -> bool:
    """True when none of these nests, as is the case with most records."""
    return not any([type(each) in _NESTS for each in values])  # noqa: C419  (a list of a few is faster)


def may_be_deeper_than(encoded: bytes, most: int) -> bool:
    """False when JSON has too few brackets for that: nearly always, at the price of counting them."""
    return encoded.count(b"{") + encoded.count(b"[") > most
