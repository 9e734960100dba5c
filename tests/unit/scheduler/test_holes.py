"""A commit that stands still behind a record that is never finished is told, and no other."""

from odradek_scheduler.core.holes import Holes


def test_what_is_finished_from_the_last_commit_on_is_no_hole() -> None:
    holes = Holes(20)

    assert [holes.look("p", 10, finished, now_s) for now_s, finished in ((0, [10, 11]), (30, []), (60, [10]))] == [
        None,
        None,
        None,
    ]


def test_a_hole_that_stays_is_read_again_from_the_last_commit() -> None:
    holes = Holes(20)

    looks = [holes.look("p", 10, range(12, 12 + now_s), now_s) for now_s in (1, 10, 20, 21, 22)]

    assert looks == [None, None, None, 10, None]


def test_commits_that_go_on_begin_anew() -> None:
    holes = Holes(20)

    looks = [holes.look("p", committed, [committed + 2], now_s) for now_s, committed in ((0, 10), (19, 11), (38, 12))]

    assert looks == [None, None, None]


def test_a_hole_that_closes_is_forgotten() -> None:
    holes = Holes(20)

    looks = [holes.look("p", 10, finished, now_s) for now_s, finished in ((0, [12]), (10, [10, 12]), (25, [12]))]

    assert looks == [None, None, None]


def test_partitions_are_looked_at_apart() -> None:
    holes = Holes(20)
    holes.look("p", 10, [12], 0)

    assert (holes.look("q", 10, [12], 30), holes.look("p", 10, [12], 30)) == (None, 10)
