"""Proxies take turns, and sick ones rest."""

from odradek_fetcher.core.proxies import FAILURES_TO_REST, FIRST_REST_S, Proxies

THREE = ("a", "b", "c")


def failing(proxies: Proxies, proxy: str, times: int, now_s: float = 0.0) -> None:
    for _ in range(times):
        proxies.settle(proxy, failed=True, now_s=now_s)


def test_proxies_take_turns() -> None:
    proxies = Proxies()
    assert [proxies.choose(THREE, turn, 0.0) for turn in range(4)] == ["a", "b", "c", "a"]
    assert proxies.choose((), 0, 0.0) is None


def test_a_failing_proxy_rests_and_comes_back() -> None:
    proxies = Proxies()
    failing(proxies, "a", FAILURES_TO_REST)
    assert (proxies.choose(THREE, 0, 1.0), proxies.resting(1.0)) == ("b", 1)
    assert proxies.choose(THREE, 0, FIRST_REST_S + 1) == "a"


def test_each_rest_is_longer_until_a_success() -> None:
    proxies = Proxies()
    failing(proxies, "a", FAILURES_TO_REST)
    failing(proxies, "a", FAILURES_TO_REST, now_s=100.0)
    assert proxies.choose(THREE, 0, 100.0 + 1.5 * FIRST_REST_S) == "b"
    proxies.settle("a", failed=False, now_s=200.0)
    failing(proxies, "a", FAILURES_TO_REST, now_s=300.0)
    assert proxies.choose(THREE, 0, 300.0 + 1.5 * FIRST_REST_S) == "a"


def test_a_success_in_between_forgives() -> None:
    proxies = Proxies()
    failing(proxies, "a", FAILURES_TO_REST - 1)
    proxies.settle("a", failed=False, now_s=0.0)
    failing(proxies, "a", FAILURES_TO_REST - 1)
    assert proxies.choose(THREE, 0, 1.0) == "a"


def test_when_all_rest_the_one_that_is_due_first_is_taken() -> None:
    proxies = Proxies()
    for now_s, proxy in enumerate(("b", "a", "c")):
        failing(proxies, proxy, FAILURES_TO_REST, now_s=float(now_s))
    assert proxies.choose(THREE, 0, 3.0) == "b"
