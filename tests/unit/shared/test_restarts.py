"""A process that dies is started again at once, and ever later while it keeps dying."""

from odradek.runtime.restarts import Restarts


def test_waits_double_up_to_a_limit() -> None:
    policy = Restarts()

    assert [policy.next_wait_s(1.0) for _ in range(8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_minute_of_life_forgives() -> None:
    policy = Restarts()
    for _ in range(5):
        policy.next_wait_s(0.0)

    assert policy.next_wait_s(60.0) == 0.2
