"""Fewer fetches at once while the machine is short of something, and all of them again afterwards."""

import pytest

from odradek_fetcher.core.pace import LEAST, Load, Pace

EASY = Load(lag_s=0.0, busy=0.5, memory_free=0.5, files_free=1000)


@pytest.mark.parametrize(
    "short",
    [
        Load(lag_s=2.0, busy=0.95, memory_free=0.5, files_free=1000),
        Load(lag_s=0.0, busy=0.5, memory_free=0.01, files_free=1000),
        Load(lag_s=0.0, busy=0.5, memory_free=0.5, files_free=10),
    ],
)
def test_whatever_is_short_slows_down_and_never_stops(short: Load) -> None:
    pace = Pace(64)
    assert [pace.adjust(short) for _ in range(8)] == [42, 28, 18, 12, 8, 5, LEAST, LEAST]


def test_when_all_is_easy_the_pace_comes_back_and_stays_within_what_is_allowed() -> None:
    pace = Pace(64)
    pace.limit = 50
    assert [pace.adjust(EASY) for _ in range(5)] == [54, 58, 62, 64, 64]


def test_a_little_late_changes_nothing() -> None:
    pace = Pace(64)
    pace.limit = 30
    assert pace.adjust(Load(lag_s=0.2, busy=0.95, memory_free=0.5, files_free=1000)) == 30


def test_a_loop_that_others_make_late_keeps_its_pace() -> None:
    assert Pace(64).adjust(Load(lag_s=2.0, busy=0.2, memory_free=0.5, files_free=1000)) == 64


def test_one_fetch_at_a_time_stays_one() -> None:
    assert Pace(1).adjust(Load(lag_s=9.0, busy=0.95, memory_free=0.5, files_free=1000)) == 1
