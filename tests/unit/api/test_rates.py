"""The pace of a job is what it did in the last seconds."""

from odradek_api.core.rates import Pace


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
