"""How deep data may be nested that is to be stored: sites and plugins nest as they like, stores do not."""

from typing import Any

MAX_DEPTH = 100
"""Levels below a record's `data`. MongoDB promises no more; what reads records afterwards may count on it."""


def deeper_than(value: Any, most: int) -> bool:
    """True when objects and lists lie in one another for more than `most` levels; `value` itself is the first."""
    level = [value]
    for _ in range(most + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return False
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return True


def may_be_deeper_than(encoded: bytes, most: int) -> bool:
    """False when JSON has too few brackets for that: nearly always, at the price of counting them."""
    return encoded.count(b"{") + encoded.count(b"[") > most
