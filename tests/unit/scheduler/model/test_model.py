"""With every rule on, no run breaks a law. `ODRADEK_MODEL_RUNS` asks for more runs of each scenario."""

import os
import time
import zlib

import pytest

from .scenarios import SCENARIOS
from .search import search, shrunk

RUNS = int(os.environ.get("ODRADEK_MODEL_RUNS", "0"))
BUDGET_S = 1.5
"""For each scenario by default."""
BLOCK = 10


@pytest.mark.timeout(0 if RUNS else 120)
@pytest.mark.parametrize("name", SCENARIOS)
def test_no_fault_breaks_a_law(name: str) -> None:
    began, done = time.monotonic(), 0
    while done < RUNS if RUNS else time.monotonic() < began + BUDGET_S:
        seed = f"{name}/{zlib.crc32(str(done).encode())}"
        made, violation, choices = search(SCENARIOS[name], BLOCK, seed)
        done += made
        if violation is not None:
            violation, story = shrunk(SCENARIOS[name], choices, violation)
            pytest.fail("\n".join([f"{name}: after {done} runs: {violation}", *story]))
    assert done > 0
