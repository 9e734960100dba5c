"""When a run is due: by period, by cron line, by deadline; across missed times and clock changes."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from odradek.schedule import Due, cron_problem, next_due
from odradek.specification import Schedule

HOUR_MS = 3_600_000
BERLIN = "Europe/Berlin"


def at(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def due(schedule: dict[str, str], last: str, now: str, lead_h: float = 0, zone: str = "UTC") -> str:
    """The begin of the next run, in the schedule's own time zone."""
    given = Schedule.model_validate({"timezone": zone, **schedule})
    found = next_due(given, at(last, zone), at(now, zone), round(lead_h * HOUR_MS))
    return datetime.fromtimestamp(found.at_ms / 1000, ZoneInfo(zone)).isoformat(timespec="minutes")[:16]


def test_a_period_counts_from_the_last_due_time() -> None:
    assert due({"every": "6h"}, "2026-03-01T00:00", "2026-03-01T05:00") == "2026-03-01T06:00"


def test_missed_periods_are_one_run_and_the_rhythm_stays() -> None:
    assert due({"every": "6h"}, "2026-03-01T00:00", "2026-03-02T01:30") == "2026-03-02T00:00"
    assert due({"every": "6h"}, "2026-03-02T00:00", "2026-03-02T01:30") == "2026-03-02T06:00"


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        ("2026-03-02T06:00", "2026-03-02T07:00", "2026-03-09T06:00"),
        ("2026-03-02T06:00", "2026-03-09T06:00", "2026-03-09T06:00"),
        ("2026-03-02T06:00", "2026-03-25T12:00", "2026-03-23T06:00"),
        ("2026-03-01T12:00", "2026-03-01T12:00", "2026-03-02T06:00"),
    ],
)
def test_a_cron_line_falls_on_its_days_and_missed_ones_are_one(last: str, now: str, expected: str) -> None:
    assert due({"cron": "0 6 * * 1"}, last, now) == expected


def test_a_cron_line_keeps_its_time_of_day_when_clocks_change() -> None:
    assert due({"cron": "0 6 * * *"}, "2026-03-28T06:00", "2026-03-28T07:00", zone=BERLIN) == "2026-03-29T06:00"
    assert due({"cron": "0 6 * * *"}, "2026-10-24T06:00", "2026-10-24T07:00", zone=BERLIN) == "2026-10-25T06:00"


def test_what_falls_into_the_missing_hour_falls_behind_it() -> None:
    assert due({"cron": "30 2 * * *"}, "2026-03-28T02:30", "2026-03-28T03:00", zone=BERLIN) == "2026-03-29T03:00"
    assert due({"fresh_by": "02:30"}, "2026-03-28T02:30", "2026-03-28T03:00", zone=BERLIN) == "2026-03-29T03:30"


def test_what_comes_twice_when_clocks_are_put_back_is_one_run() -> None:
    schedule = Schedule(cron="30 2 * * *", timezone=BERLIN)
    first = next_due(schedule, at("2026-10-24T02:30", BERLIN), at("2026-10-24T03:00", BERLIN)).at_ms
    second = next_due(schedule, first, first + 1).at_ms
    assert second - first == 25 * HOUR_MS


def test_a_run_begins_so_early_that_it_ends_before_its_deadline() -> None:
    assert due({"fresh_by": "08:00"}, "2026-03-01T08:00", "2026-03-01T09:00", lead_h=2.5) == "2026-03-02T05:30"
    found = next_due(Schedule(fresh_by="08:00"), at("2026-03-01T08:00"), at("2026-03-01T09:00"), HOUR_MS)
    assert found == Due(at("2026-03-02T07:00"), at("2026-03-02T08:00"))


def test_a_lead_is_real_time_also_across_a_clock_change() -> None:
    assert due({"fresh_by": "08:00"}, "2026-03-28T08:00", "2026-03-28T09:00", 7, BERLIN) == "2026-03-29T00:00"


def test_a_deadline_that_passed_without_a_run_is_made_up_for_once() -> None:
    assert due({"fresh_by": "08:00"}, "2026-03-01T08:00", "2026-03-04T09:00", lead_h=1) == "2026-03-04T07:00"
    assert due({"fresh_by": "08:00"}, "2026-03-04T09:30", "2026-03-04T09:40", lead_h=1) == "2026-03-05T07:00"


def test_when_it_is_time_for_the_next_deadline_the_missed_one_is_given_up() -> None:
    assert due({"fresh_by": "08:00"}, "2026-03-01T08:00", "2026-03-03T07:30", lead_h=1) == "2026-03-03T07:00"


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"every": "6h"}, "2026-03-02T06:00"),
        ({"cron": "0 6 * * *"}, "2026-03-02T06:00"),
        ({"fresh_by": "08:00"}, "2026-03-02T07:00"),
    ],
)
def test_a_run_begun_by_a_clock_that_was_years_ahead_holds_up_no_other(schedule: dict[str, str], expected: str) -> None:
    assert due(schedule, "2031-01-01T08:00", "2026-03-02T10:00", lead_h=1) == expected


@pytest.mark.parametrize("schedule", [{"every": "6h"}, {"cron": "0 */6 * * *"}])
def test_a_clock_that_is_put_back_a_little_makes_no_run_happen_twice(schedule: dict[str, str]) -> None:
    assert due(schedule, "2026-03-01T06:00", "2026-03-01T05:59") == "2026-03-01T12:00"


@pytest.mark.parametrize("line", ["@daily", "*/5 * * * *", "0 6 * * MON", "0 0 L * *", "15 10 1 */3 *"])
def test_cron_lines_that_come(line: str) -> None:
    assert cron_problem(line) is None


@pytest.mark.parametrize("line", ["61 * * * *", "0 25 * * *", "0 0 31 2 *", "0 0 * * XYZ", "*/0 * * * *", "- * * * *"])
def test_cron_lines_that_do_not(line: str) -> None:
    assert cron_problem(line)
