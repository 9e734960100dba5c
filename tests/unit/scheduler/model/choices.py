"""One sequence of choices decides a whole run, so that every run can be repeated and shrunk."""

import random
from collections.abc import Sequence


class Choices:
    def __init__(self, *, seed: str | None = None, recorded: Sequence[int] = ()) -> None:
        self._random = None if seed is None else random.Random(seed)
        self._recorded = recorded
        self._at = 0
        self.made: list[int] = []

    def __call__(self, count: int) -> int:
        """A number below `count`; 0 where nothing is left to choose."""
        if count <= 1:
            return 0
        if self._random is not None:
            choice = self._random.randrange(count)
        else:
            choice = min(self._recorded[self._at], count - 1) if self._at < len(self._recorded) else 0
            self._at += 1
        self.made.append(choice)
        return choice
