"""The core through simulated hours: rules C and I in every state (design §3).

`ODRADEK_SIMULATED_HOURS` (default 96 over all cases; full size 5000) is how long.
"""

import os
from itertools import groupby

import pytest

from .harness import Crawl, a_job, a_link
from .simulation import Simulation

HOURS = float(os.environ.get("ODRADEK_SIMULATED_HOURS", "96"))
CASES = [(0.0, 1), (0.0, 4), (1.0, 1), (1.0, 3), (30.0, 1), (30.0, 2)]


@pytest.mark.timeout(0)
@pytest.mark.parametrize(("delay_s", "concurrency"), CASES)
def test_whatever_hosts_do_the_ledger_balances_and_nobody_is_rude(delay_s: float, concurrency: int) -> None:
    """Sound, slow, failing and throttling hosts and such that go down; pauses, restarts and new links in between."""
    hours_each = 8
    for seed in range(max(1, round(HOURS / len(CASES) / hours_each))):
        sim = Simulation(seed, delay_s=delay_s, concurrency=concurrency)
        sim.job()
        version = 1
        for hour in range(hours_each):
            sim.links(sim.random.randrange(1, 60))
            sim.run(0.3)
            if sim.random.random() < 0.4:
                sim.restart()
            version += 1
            sim.wanted("j", version, sim.random.choice(("paused", "running")) if hour < hours_each - 1 else "running")
            sim.run(0.7)
        sim.run(6)
        ledger = sim.crawl.ledger()
        assert (sim.recounted(), ledger.pending) == ((0, 0, 0, 0), 0)
        assert sim.sent >= ledger.accepted > 0


def test_a_job_of_very_many_urls_does_not_starve_one_of_ten() -> None:
    """On one host, and over many hosts with few credits."""
    crawl = Crawl()
    crawl.fold(a_job("big"), a_job("small"))
    for start in range(0, 50_000, 5_000):
        crawl.fold(*(a_link(f"b{n}", host=f"h{n % 500}.example", job="big") for n in range(start, start + 5_000)))
    crawl.fold(*(a_link(f"s{n}", host=f"h{n}.example", job="small") for n in range(5)))
    crawl.fold(*(a_link(f"t{n}", host="h0.example", job="small") for n in range(5)))
    first = [request.job for _ in range(10) for request in crawl.core.dispatch(crawl.now_ms, 4).requests]
    assert (len(first), first.count("small")) == (40, 10)


def test_a_higher_priority_is_through_before_a_lower_one_is_sent() -> None:
    sim = Simulation(1, delay_s=0.0, concurrency=1, sites=1)
    for name, priority in (("low", 10), ("high", 90), ("mid", 50)):
        sim.job(name, priority=priority)
        sim.links(20, name)
    sim.run(0.5)
    assert [job for job, _ in groupby(sim.order)] == ["high", "mid", "low"]


def test_a_priority_changed_live_holds_at_once_for_jobs_with_many_hosts_waiting() -> None:
    crawl = Crawl()
    crawl.fold(a_job("one"), a_job("two"))
    for job in ("one", "two"):
        crawl.fold(*(a_link(f"{job}{n}", host=f"{job}{n}.example", job=job) for n in range(50)))
    served = [[request.job for request in crawl.core.dispatch(crawl.now_ms, 6).requests]]
    for version, priority in ((2, 90), (3, 10)):
        crawl.fold(a_job("two", version=version, priority=priority))
        served.append([request.job for request in crawl.core.dispatch(crawl.now_ms, 6).requests])
    assert served == [["one", "two"] * 3, ["two"] * 6, ["one"] * 6]


@pytest.mark.timeout(30)
def test_a_host_that_very_many_jobs_wait_for_is_looked_at_once_for_each_request() -> None:
    """A job for each page, as a queue of single requests makes them: their square would take minutes."""
    crawl = Crawl()
    for name in map("j{}".format, range(1_000)):
        crawl.fold(a_job(name, politeness={"concurrency_per_host": 1}), a_link("x", job=name))
    served = []
    for _ in range(10):
        (request,) = crawl.core.dispatch(crawl.now_ms, 10).requests
        served.append(request.job)
        crawl.finish(request)
    assert len(set(served)) == 10


@pytest.mark.parametrize("strategy", ["breadth_first", "depth_first"])
def test_the_strategy_decides_over_a_whole_crawl(strategy: str) -> None:
    """A tree of three levels: level by level, or always down first."""
    crawl = Crawl()
    crawl.fold(a_job(strategy=strategy, politeness={"concurrency_per_host": 1}), a_link("0"))
    order: list[str] = []
    while requests := crawl.dispatch():
        for request in requests:
            order.append(request.fp)
            if len(request.fp) < 3:
                crawl.fold(*(a_link(f"{request.fp}{child}") for child in range(2)))
            crawl.finish(request)
    levels = [len(name) for name in order]
    if strategy == "breadth_first":
        assert levels == sorted(levels) == [1, 2, 2, 3, 3, 3, 3]
    else:
        assert levels == [1, 2, 3, 3, 2, 3, 3]


def test_a_throttled_host_holds_no_credit_while_it_rests() -> None:
    crawl = Crawl()
    crawl.fold(a_job(politeness={"delay": 0.0, "concurrency_per_host": 1}))
    crawl.fold(*(a_link(f"{host}{n}", host=f"{host}.example") for host in "ab" for n in range(20)))
    for request in crawl.dispatch(2):
        crawl.answer(request, 429 if request.key == "a.example" else 200, retry_after_s=60.0)
        crawl.end(
            request, **({"outcome": "failed", "reason": "http_429", "retry_in_ms": 60_000} if "a" in request.fp else {})
        )
    served = []
    for _ in range(19):
        (request,) = crawl.dispatch(1)
        served.append(request.key)
        assert crawl.core.outstanding == 1
        crawl.finish(request)
    assert served == ["b.example"] * 19
