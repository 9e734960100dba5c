"""Runs and freshness of recurring jobs on a terminal."""

import json

import pytest

from odradek.cli.recurring import AHEAD, show_parts

FOUND = {
    "data": [
        {"run": 2, "state": "running", "began_at_ms": 1_796_046_431_578, "slept": 1},
        {"run": 1, "state": "complete", "began_at_ms": 1_796_042_831_578, "slept": 2},
    ],
    "next_run": None, "next_run_at_ms": None, "deadline_ms": 1_796_050_031_578, "expected_end_ms": None,
    "missed": "It will end late.",
}  # fmt: skip
COLUMNS = ("run", "state", "began_at_ms")


def test_a_person_sees_runs_as_rows_and_below_what_is_to_be_expected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")

    show_parts(FOUND, ("data", COLUMNS), AHEAD, as_json=False, empty="none")

    assert [line.strip().split(maxsplit=2) for line in capsys.readouterr().out.splitlines()] == [
        ["run", "state", "began_at_ms"],
        ["2", "running", "2026-11-30T13:47:11.578Z"],
        ["1", "complete", "2026-11-30T12:47:11.578Z"],
        ["deadline_ms", "2026-11-30T14:47:11.578Z"],
        ["missed", "It", "will end late."],
    ]


def test_others_get_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_parts(FOUND, ("data", COLUMNS), AHEAD, as_json=True, empty="none")
    assert json.loads(capsys.readouterr().out) == FOUND
