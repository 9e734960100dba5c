"""Which faults, in which order: decided by a seed alone."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

SERVICES: Final = ("scheduler", "fetcher", "parser", "indexer")
PAIRS: Final = (
    "scheduler+scheduler", "scheduler+fetcher", "scheduler+parser", "scheduler+indexer", "fetcher+parser",
    "fetcher+indexer", "parser+indexer", "parser+parser", "fetcher+fetcher", "indexer+indexer", "scheduler+api",
)  # fmt: skip
"""Killed in the same instant."""

CATALOGUE: Final[tuple[tuple[str, str], ...]] = (
    *(("kill", victim) for victim in (*SERVICES, "api")),
    *(("kill", pair) for pair in PAIRS),
    *(("freeze", victim) for victim in SERVICES),
    *(("storm", victim) for victim in SERVICES),
    *(("crowd", victim) for victim in SERVICES),
    ("wipe", "scheduler"),
    ("wipe", "scheduler+scheduler"),
    ("compact", "changelogs"),
    ("disk_full", "state"),
    ("broker", "kill"),
    ("broker", "restart"),
    ("broker", "freeze"),
    ("away", "mongodb"),
    ("away", "elasticsearch"),
    ("away", "mongodb+elasticsearch"),
    ("retention", "pages"),
    ("retention", "scheduled"),
    *(("again", service) for service in SERVICES),
    ("poison", "every topic"),
    ("old_version", "every topic"),
    ("bad_page", "crash"),
    ("bad_page", "hang"),
    ("bad_page", "exhaust"),
    ("clock", "back-off"),
)
"""Every fault there is: what is done, and to what."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of a plan."""

    number: int
    """From 1, over all rounds."""
    kind: str
    target: str
    seed: int
    """Of what the fault itself leaves to chance."""

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.target}"


def plan(seed: int, faults: int, *, without: Sequence[str] = (), only: Sequence[str] = ()) -> list[Planned]:
    """So many faults in an order drawn from the seed; none is drawn twice before each was drawn once.

    `without`: kinds that this machine cannot bear; `only`: no others than these.
    """
    rng = random.Random(seed)
    possible = [each for each in CATALOGUE if each[0] not in without and (not only or each[0] in only)]
    drawn: list[tuple[str, str]] = []
    while possible and len(drawn) < faults:
        drawn += rng.sample(possible, len(possible))
    return [Planned(number, *each, rng.randrange(2**32)) for number, each in enumerate(drawn[:faults], 1)]


def rounds(planned: Sequence[Planned], size: int) -> list[list[Planned]]:
    """Cut into crawls of so many faults."""
    return [list(planned[start : start + size]) for start in range(0, len(planned), size)]


def drawn(target: str, members: Callable[[str], Sequence[str]], rng: random.Random) -> list[str]:
    """Of each kind in `scheduler+parser` one of its members; of `parser+parser` two different ones."""
    found: list[str] = []
    for kind in target.split("+"):
        found.append(rng.choice([name for name in members(kind) if name not in found]))
    return found
