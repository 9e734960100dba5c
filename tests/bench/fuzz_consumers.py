"""Fuzzes every consumer with messages that nobody meant: `python -m tests.bench.fuzz_consumers --seconds 60 --seed 1`.

For each topic: golden samples and sound messages, cut, flipped, with absurd values. The law: nothing raises; what
cannot be decoded is poison; a request or page that is given up says so to the frontier (a terminal `Parsed`); what a
service sends can be read by who reads it. It prints one JSON object and exits with 1 if a law was broken; a case is
made again from its seed and number.
"""

import argparse
import asyncio
import json
import random
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.bench.consumers import CONSUMERS

Consume = Callable[[random.Random], Awaitable[str]]
"""One case; what became of it, in a word."""


@dataclass
class Found:
    """What a run was like."""

    cases: int = 0
    became: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""


async def fuzz(seconds: float, seed: int, *, first: int = 0, most: int = 10**9) -> Found:
    """Cases in turn over all consumers, until the time is over or there were so many."""
    found, until = Found(), time.monotonic() + seconds
    consumers = {name: make() for name, make in CONSUMERS.items()}
    names = list(consumers)
    while time.monotonic() < until and found.cases < most:
        number = first + found.cases
        name = names[number % len(names)]
        begun = time.process_time()
        became = await one(consumers[name], f"{seed}-{number}")
        took = time.process_time() - begun
        if took > found.slowest_s:
            found.slowest_s, found.slowest = round(took, 3), f"{name} {number}"
        found.cases += 1
        if became.startswith("broke"):
            found.failures.append(f"case {number} ({name}): {became}")
            consumers[name] = CONSUMERS[name]()
        kind = f"{name}: {became.partition(' ')[0]}"
        found.became[kind] = found.became.get(kind, 0) + 1
    return found


async def one(consume: Any, seed: str) -> str:
    """One case."""
    try:
        return str(await consume(random.Random(seed)))
    except Exception as error:  # noqa: BLE001  (any is a finding)
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"broke {type(error).__name__}: {str(error)[:200]} ({at.filename.rpartition('/')[2]}:{at.lineno})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    given = parser.parse_args()
    result = asyncio.run(
        fuzz(given.seconds, given.seed, first=given.case or 0, most=1 if given.case is not None else 10**9)
    )
    told = {**result.__dict__, "failures": result.failures[:40], "failed": len(result.failures)}
    print(json.dumps(told, indent=1))  # noqa: T201  (its purpose)
    sys.exit(1 if result.failures else 0)
