from time import monotonic

import pytest

from odradek.kafka.records import Record
from odradek.kafka.window import Gap, InHand, Window
from odradek.testing.records import a_record


def records(*offsets: int, partition: int = 0) -> list[Record]:
    return [a_record(b"12345", partition=partition, offset=offset) for offset in offsets]


@pytest.fixture
def hand() -> InHand:
    hand = InHand(Window(records=4, size_bytes=100))
    hand.own(0, None)
    return hand


def test_records_of_a_partition_that_is_not_ours_are_not_taken(hand: InHand) -> None:
    assert hand.take(records(1, partition=3)) == ([], [])


def test_missing_offsets_are_a_gap(hand: InHand) -> None:
    hand.own(1, expected=5)
    assert hand.take(records(8, 9, 11, partition=1))[1] == [Gap(1, 5, 8), Gap(1, 10, 11)]


def test_there_is_room_until_the_number_or_the_bytes_are_used_up() -> None:
    hand = InHand(Window(records=4, size_bytes=11))
    hand.own(0, None)
    assert hand.free() == 4
    hand.take(records(0, 1))
    assert hand.free() == 2
    hand.take(records(2))
    assert hand.free() == 0
    hand.finish(records(0))
    assert hand.free() == 2


def test_marks_are_told_once_and_again_when_refused(hand: InHand) -> None:
    hand.take(records(0, 1, 2))
    hand.finish(records(0, 2))
    assert hand.marks() == {0: 1}
    hand.finish(records(1))
    assert hand.marks() == {0: 3}
    assert hand.marks() == {}
    hand.refused([0])
    assert hand.marks() == {0: 3}


def test_draining_takes_back_what_nobody_began_and_never_commits_it(hand: InHand) -> None:
    taken = records(0, 1, 2)
    hand.take(taken)
    assert hand.begin(taken[0])
    hand.finish([taken[0]])
    assert hand.drain([0], monotonic() + 5)
    assert not hand.begin(taken[1])
    hand.finish(taken[1:])
    assert hand.marks() == {0: 1}


def test_draining_ends_at_its_deadline(hand: InHand) -> None:
    taken = records(0)
    hand.take(taken)
    hand.begin(taken[0])
    assert not hand.drain([0], monotonic() + 0.01)


def test_nothing_of_a_lost_partition_is_ever_committed(hand: InHand) -> None:
    hand.take(records(0, 1))
    hand.finish(records(0))
    hand.disown([0])
    hand.finish(records(1))
    assert (hand.marks(), len(hand), hand.free()) == ({}, 0, 4)


def test_a_partition_that_comes_back_starts_anew(hand: InHand) -> None:
    old = records(0)
    hand.take(old)
    hand.disown([0])
    hand.own(0, expected=0)
    assert not hand.begin(old[0])
    hand.take(records(0))
    assert hand.begin(old[0])
