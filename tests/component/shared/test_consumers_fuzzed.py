"""Bytes that nobody meant, given to every consumer of every topic; `FUZZ_SECONDS` goes on for longer than 1,000 cases.

`python -m tests.bench.fuzz_consumers --case N --seed S` makes one case again.
"""

import os
import time

import pytest
from tests.bench.consumers import CONSUMERS
from tests.bench.fuzz_consumers import fuzz

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
CASES = 1_000


@pytest.mark.timeout(0)
async def test_no_message_ends_a_consumer_and_what_is_given_up_is_told_to_the_frontier() -> None:
    seed = round(time.time()) if SECONDS else 1
    found = await fuzz(SECONDS or 600, seed, most=10**9 if SECONDS else CASES)

    print(f"seed {seed}: {found.cases} cases, {found.became}")  # noqa: T201  (a figure to read)
    assert found.failures == []
    assert found.cases >= CASES
    unheard = [name for name in CONSUMERS if not found.became.get(f"{name}: done")]
    assert unheard == [], "no case reached what lies behind the decoder"
