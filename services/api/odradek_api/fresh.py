"""Answers that many ask for at the same time, made once for all of them."""

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Fresh(Generic[Key, Value]):
    """What was made in the last `keep_s` seconds, by what it was made for; nothing older is held."""

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._made: dict[Key, tuple[float, Value]] = {}

    def get(self, key: Key, make: Callable[[], Value], now_s: float) -> Value:
        """The answer for this key, made now when the last one is too old; what `make` raises is raised and not kept."""
        found = self._made.get(key)
        if found is None or now_s - found[0] >= self._keep_s:
            self._made = {name: made for name, made in self._made.items() if now_s - made[0] < self._keep_s}
            found = self._made[key] = (now_s, make())
        return found[1]
