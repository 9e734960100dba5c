"""Who is gone: absent at every look for long enough."""

from odradek_api.core.absences import Absences

HERE = frozenset({"here"})


def test_one_is_gone_after_being_absent_for_long_enough() -> None:
    absences = Absences(for_s=10.0)

    looks = [absences.look({"other", "here"}, HERE, now_s) for now_s in (0.0, 5.0, 10.0)]

    assert [gone for gone, _ in looks] == [frozenset(), frozenset(), frozenset({"other"})]


def test_one_that_was_seen_meanwhile_is_not_gone() -> None:
    absences = Absences(for_s=10.0)

    absences.look({"late"}, HERE, 0.0)
    absences.look({"late"}, HERE | {"late"}, 5.0)
    gone, _ = absences.look({"late"}, HERE, 12.0)

    assert gone == frozenset()


def test_it_tells_when_somebody_has_left() -> None:
    absences = Absences()

    told = [absences.look((), present, 0.0)[1] for present in (HERE, HERE | {"other"}, HERE, HERE)]

    assert told == [False, False, True, False]
