"""A short drill: some of the faults of `make drill`, in one crawl, with the same reckoning.

`DRILL_FAULTS` says how many (6 take some four minutes; without it there is no drill here), `DRILL_SEED` in which
order; with 50 and more every kind of fault comes.
"""

import os
from pathlib import Path

import pytest
from tests.drill.__main__ import Order, drill

FAULTS = int(os.environ.get("DRILL_FAULTS", "0"))
SEED = int(os.environ.get("DRILL_SEED", "5"))
QUICK = ("kill", "freeze", "storm", "wipe", "again", "poison", "old_version", "bad_page", "clock")
"""Kinds that take seconds; the others wait for a lease, a broker or a store that is away."""

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.timeout(300 + 60 * FAULTS),
    pytest.mark.skipif(not FAULTS, reason="set DRILL_FAULTS=6: it takes minutes"),
]


def test_after_each_fault_everything_moves_again_and_at_the_end_every_number_is_right(tmp_path: Path) -> None:
    only = QUICK if FAULTS < 50 else ()
    report = drill(tmp_path, Order(faults=FAULTS, seed=SEED, in_round=6, only=only))

    print(report.totals(), report.happenings, report.rounds)  # noqa: T201  (figures)
    assert report.broken_off == ""
    assert [each.verdict.unexplained for each in report.rounds] == [()] * len(report.rounds)
    totals = report.totals()
    assert (totals["faults"], totals["recovered"]) == (FAULTS, FAULTS)
    assert (totals["lost"], totals["double_stored"], totals["unexplained"]) == (0, 0, 0)
