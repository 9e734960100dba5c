"""A report says what happened, and is good only if nothing is left to explain."""

import json

from tests.drill.plan import Planned
from tests.drill.reckoning import Verdict
from tests.drill.report import Happening, Report, Round, markdown

GOOD = Verdict(lost=0, double_stored=0, unexplained=(), fetched_twice=3, late=1, retried=2)


def a_happening(number: int = 1, **changes: object) -> Happening:
    fields = {"fault": Planned(number, "kill", "parser", 5), "round": 1, "lasted_s": 0.0, "recovery_s": 2.5}
    return Happening(**(fields | changes))  # type: ignore[arg-type]  # a builder


def a_report(*happenings: Happening, verdict: Verdict = GOOD) -> Report:
    report = Report(command="python -m tests.drill", seed=1, engines="engines", load="load 1")
    report.happenings = list(happenings)
    report.rounds = [Round(number=1, pages=50, seconds=9.0, end_s=1.0, verdict=verdict)]
    return report


def test_a_drill_without_anything_to_explain_is_good() -> None:
    report = a_report(a_happening(), a_happening(2, recovery_s=4.5))

    assert report.good
    assert report.totals() == {
        "faults": 2, "recovered": 2, "pages": 50, "lost": 0, "double_stored": 0, "unexplained": 0, "fetched_twice": 3,
        "late": 1,
    }  # fmt: skip


def test_a_fault_that_was_not_recovered_from_and_a_process_that_ended_by_itself_are_unexplained() -> None:
    stuck = a_report(a_happening(recovery_s=None, stuck="pages-1 stands at 7"))
    ended = a_report(a_happening(by_itself=("scheduler-0", "scheduler-0")))

    assert (stuck.totals()["recovered"], stuck.totals()["unexplained"], stuck.good) == (0, 1, False)
    assert (ended.totals()["unexplained"], ended.good) == (2, False)
    assert "pages-1 stands at 7" in markdown(stuck)
    assert "2 times scheduler-0 ended by itself" in markdown(ended)


def test_people_and_machines_are_told_the_same() -> None:
    report = a_report(a_happening(), a_happening(2, recovery_s=4.5))
    report.not_possible = {"disk_full": "mount: no"}

    assert json.loads(json.dumps(report.to_json()))["totals"] == report.totals()
    text = markdown(report)
    assert "| kill: parser | 2 | 3.5 s | 4.5 s |" in text
    assert "Not possible here: disk_full (mount: no)." in text
    assert "| 1 | 1 | kill: parser | 5 | 0.0 s | 2.5 s |  |" in text
