"""The order of a drill is a function of its seed."""

from collections import Counter

from tests.drill.faults import FAULTS, MAY_END, MAY_END_LATER
from tests.drill.plan import CATALOGUE, plan, rounds


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert plan(1, 100) == plan(1, 100)
    assert plan(1, 100) != plan(2, 100)


def test_every_fault_comes_before_any_comes_again() -> None:
    drawn = Counter((each.kind, each.target) for each in plan(7, 2 * len(CATALOGUE)))

    assert drawn == Counter(dict.fromkeys(CATALOGUE, 2))


def test_what_a_machine_cannot_bear_is_left_out_and_one_kind_can_be_asked_for() -> None:
    assert {each.kind for each in plan(1, 200, without=["disk_full"])} == {kind for kind, _ in CATALOGUE} - {
        "disk_full"
    }
    assert {each.kind for each in plan(1, 20, only=["broker"])} == {"broker"}
    assert plan(1, 5, only=["nothing"]) == []


def test_numbers_go_on_through_the_rounds() -> None:
    cut = rounds(plan(1, 7), 3)

    assert [[each.number for each in faults] for faults in cut] == [[1, 2, 3], [4, 5, 6], [7]]


def test_whatever_is_planned_can_be_done() -> None:
    assert {kind for kind, _ in CATALOGUE} == set(FAULTS)
    assert MAY_END.keys() | MAY_END_LATER.keys() <= {f"{kind}: {target}" for kind, target in CATALOGUE}
