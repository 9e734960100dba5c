"""Runs of recurring jobs on a terminal."""

import json
from typing import Any

import pytest

from odradek.cli.recurring import show_runs


def a_run(number: int, **changes: Any) -> dict[str, Any]:
    run = {
        "run": number, "state": "complete", "began_at_ms": 1_796_042_831_578, "late_ms": 70, "duration_ms": 4_471,
        "met": None, "accepted": 13, "fetched": 1, "not_modified": 11, "skipped": 0, "failed": 1, "items": 1,
    }  # fmt: skip
    return run | changes


def found(*runs: dict[str, Any], **ahead: Any) -> dict[str, Any]:
    names = ("next_run", "next_run_at_ms", "deadline_ms", "expected_end_ms", "missed")
    return {"data": list(runs), **dict.fromkeys(names), **ahead}


def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shown: dict[str, Any]
) -> list[list[str]]:
    """What a terminal of 80 columns shows, in words."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    show_runs(shown, as_json=False)
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_runs_are_rows_and_below_stands_what_is_to_be_expected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = a_run(12, state="running", duration_ms=None, late_ms=300_000, accepted=50_000, not_modified=49_000)

    assert printed(capsys, monkeypatch, found(running, a_run(11), missed="It will end late.")) == [
        ["run", "state", "began", "late", "took", "urls", "fetched", "same", "failed"],
        ["12", "running", "11-30", "12:47:11Z", "5m", "50000", "1", "49000", "1"],
        ["11", "complete", "11-30", "12:47:11Z", "4.5s", "13", "1", "11", "1"],
        ["missed", "It", "will", "end", "late."],
    ]


def test_runs_with_a_deadline_say_whether_they_were_in_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = printed(capsys, monkeypatch, found(a_run(2, met=False, duration_ms=7_500_000), a_run(1, met=True)))

    assert [row[4:6] for row in rows[1:]] == [["2h05m", "no"], ["4.5s", "yes"]]


def test_a_job_without_a_schedule_has_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(capsys, monkeypatch, found()) == ["no runs: the job does not recur".split()]


def test_others_get_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(found(a_run(1)), as_json=True)
    assert json.loads(capsys.readouterr().out) == found(a_run(1))
