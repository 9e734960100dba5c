"""The pace of a job is what it did in the last seconds."""

from typing import Literal

from odradek.contracts import Counters, JobRecord, Progress
from odradek_api.core.rates import Pace
from odradek_api.core.standing import Standing
from odradek_api.paces import Paces


def a_standing(pages: int, wanted: Literal["running", "paused"] = "running") -> Standing:
    ledger = Counters(accepted=10, pending=10 - pages, fetched=pages, kept=pages)
    report = Progress(job="j", partition=0, offset=1, epoch=1, counters=ledger)
    return Standing(JobRecord(job="j", spec={}, seeded=True, wanted=wanted), (report,), None)


def test_one_reading_is_no_pace() -> None:
    pace = Pace()
    pace.note(0.0, 10, 10)

    assert (pace.pages_per_s(), pace.eta_s(5)) == (0.0, None)


def test_the_pace_forgets_what_is_older_than_its_window() -> None:
    pace = Pace()
    for second in range(30):
        pace.note(float(second), 0 if second < 15 else (second - 15) * 10, second * 2)

    assert pace.pages_per_s() == 10.0
    assert pace.eta_s(20) == 10.0


def test_a_job_stands_still_since_one_of_its_totals_last_changed() -> None:
    paces = Paces()
    for second, pages in enumerate((0, 1, 1, 1)):
        paces.note("slow", a_standing(pages), float(second), second * 1000)
        paces.note("quick", a_standing(pages + second), float(second), second * 1000)

    assert paces.still_s(10.0) == 9.0


def test_a_job_that_is_paused_does_not_stand_still() -> None:
    paces = Paces()
    paces.note("paused", a_standing(1), 0.0, 0)
    paces.note("paused", a_standing(1, wanted="paused"), 1.0, 1000)

    assert paces.still_s(10.0) == 0.0
