"""Limits changed live, jobs ended by the clock, hosts blocked and probed."""

import pytest

from odradek.contracts import Fetched, HostChanged, JobChanged, PermitsReported, RetryAsked, SkipRest
from odradek_scheduler.core.budget import report_heard
from odradek_scheduler.core.politeness import asked_rest_ms, delay_between_ms
from odradek_scheduler.core.rereading import AT_ONCE
from odradek_scheduler.core.state import Home

from .harness import NOW_MS, Crawl, a_job, a_link


def a_crawl(*links: str, **spec: object) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(**spec))
    for name in links:
        crawl.fold(a_link(name))
    return crawl


def a_sated_crawl() -> Crawl:
    """One page of three is kept, and a fourth link comes too late."""
    crawl = a_crawl(*"abc", scope={"max_pages": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.after(s=1).dispatch()
    crawl.fold(a_link("d"))
    return crawl


def test_what_comes_after_the_budget_is_reached_is_accepted_and_skipped() -> None:
    ledger = a_sated_crawl().ledger()
    assert (ledger.accepted, ledger.skipped, ledger.refused, ledger.reasons["skipped"]) == (
        4,
        3,
        0,
        {"budget_pages": 3},
    )


@pytest.mark.parametrize("restarted", [False, True])
def test_a_higher_limit_opens_what_the_reached_one_has_skipped(restarted: bool) -> None:  # noqa: FBT001  (a case)
    crawl = a_sated_crawl()
    if restarted:
        crawl.restart()
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 3}))
    assert (crawl.ledger().pending, crawl.ledger().skipped) == (3, 0)
    for _ in range(2):
        for request in crawl.after(s=1).dispatch():
            crawl.finish(request)
    crawl.after(s=1).dispatch()
    ledger = crawl.ledger()
    assert (ledger.kept, ledger.skipped, ledger.pending, ledger.closed_by) == (3, 1, 0, "budget_pages")
    counted = crawl.core.recount("j")
    assert counted is not None
    assert (counted.accepted, counted.fetched, counted.skipped) == (4, 3, 1)


def test_without_a_limit_all_is_open_again() -> None:
    crawl = a_sated_crawl()
    crawl.fold(a_job(version=2, epoch=2))
    assert crawl.sends() == ["b", "c", "d"]


def a_sated_crawl_of_many_hosts(hosts: int) -> Crawl:
    """One page is kept; each host has a backlog page."""
    crawl = a_crawl("a", scope={"max_pages": 1})
    (request,) = crawl.dispatch()
    crawl.fold(*(a_link(f"x{n}", host=f"h{n:05d}.example") for n in range(hosts)))
    crawl.finish(request)
    crawl.after(s=1).dispatch()
    return crawl


def test_a_long_backlog_that_is_open_again_is_read_beside_other_work() -> None:
    """At most some thousand pages between two batches; what comes meanwhile is sent too, and nothing twice."""
    crawl = a_sated_crawl_of_many_hosts(5 * AT_ONCE // 2)
    crawl.fold(a_job(version=2, epoch=2))
    sent = [crawl.core.dispatch(crawl.now_ms, 100_000).requests]
    assert len(sent[0]) <= 2 * AT_ONCE
    assert (crawl.core.wake_at_ms(crawl.now_ms) or 0) <= crawl.now_ms
    crawl.fold(a_job("k"), a_link("y", host="other.example", job="k"), a_link("z", host="h04999.example"))
    sent.append(crawl.core.dispatch(crawl.now_ms, 100_000).requests)
    sent += [crawl.core.dispatch(crawl.now_ms, 100_000).requests for _ in range(9)]
    names = [request.url.rpartition("/")[2] for each in sent for request in each]
    assert sorted(names) == sorted([*(f"x{n}" for n in range(5 * AT_ONCE // 2)), "y", "z"])


def test_a_run_that_is_closed_while_its_backlog_is_read_sends_nothing_more() -> None:
    crawl = a_sated_crawl_of_many_hosts(5 * AT_ONCE // 2)
    crawl.fold(a_job(version=2, epoch=2))
    crawl.fold(a_job(version=3, epoch=2, wanted="cancelled"))
    assert crawl.dispatch() == []
    assert crawl.ledger().pending == 0


def test_the_end_of_an_older_limit_is_no_end_of_a_higher_one() -> None:
    """It was on its way when the limit was raised."""
    crawl = a_crawl(*"abc", scope={"max_pages": 1})
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 3}))
    crawl.fold(SkipRest(job="j", version=1, max_pages=1))
    assert crawl.ledger().closed_at is None


@pytest.mark.parametrize("in_one", [True, False])
def test_a_job_that_is_cancelled_stays_closed_also_with_a_higher_limit(in_one: bool) -> None:  # noqa: FBT001  (a case)
    """In one fact, or in one batch with the end of its budget told once more."""
    crawl = a_sated_crawl()
    if in_one:
        crawl.fold(a_job(version=2, epoch=2, wanted="cancelled", scope={"max_pages": 3}))
    else:
        raised, cancelled = a_job(version=2, scope={"max_pages": 3}), a_job(version=3, wanted="cancelled")
        crawl.fold(SkipRest(job="j", version=1, max_pages=1), raised, cancelled)
    assert (crawl.ledger().pending, crawl.ledger().closed_at is None, crawl.dispatch()) == (0, False, [])


def test_the_same_limit_told_again_opens_nothing() -> None:
    crawl = a_sated_crawl()
    crawl.fold(a_job(version=7, scope={"max_pages": 1}))
    assert crawl.ledger().closed_by == "budget_pages"


def test_a_lower_limit_takes_back_permits_that_no_url_holds() -> None:
    crawl = a_crawl(*"abcdef", scope={"max_pages": 6}, politeness={"concurrency_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.fold(a_job(version=2, scope={"max_pages": 2}, politeness={"concurrency_per_host": 1}))
    crawl.finish(request)
    for _ in range(6):
        for request in crawl.after(s=1).dispatch():
            crawl.finish(request)
    assert (crawl.ledger().kept, crawl.ledger().closed_by) == (2, "budget_pages")


def test_permits_from_before_a_job_had_no_limit_are_void_when_it_has_one_again() -> None:
    crawl = a_crawl(*"abcdef", scope={"max_pages": 6})
    crawl.dispatch(0)
    crawl.fold(a_job(version=2))
    crawl.fold(a_job(version=3, scope={"max_pages": 2}))
    assert crawl.ledger().free_permits <= 2
    for _ in range(6):
        for request in crawl.after(s=1).dispatch():
            crawl.finish(request)
    assert (crawl.ledger().kept, crawl.ledger().closed_by) == (2, "budget_pages")


def test_pages_kept_without_a_limit_count_when_there_is_one() -> None:
    home = Home(max_pages=100)
    for partition in range(2):
        report_heard(home, PermitsReported(job="j", partition=partition, offset=5, kept=40, returned=0, wanted=40), 2)
    for partition in range(2):
        report_heard(home, PermitsReported(job="j", partition=partition, offset=6, kept=40, returned=0, wanted=296), 2)
    assert [home.shares[0].granted, home.shares[1].granted] == [60, 0]


def test_a_job_ends_by_the_clock_from_its_acceptance_on_also_after_a_restart() -> None:
    crawl = Crawl()
    job = a_job(expires=60.0)
    crawl.fold(JobChanged(job="j", version=1, epoch=1, spec=job.spec, created_at_ms=NOW_MS - 10_000, at_ms=NOW_MS))
    crawl.fold(a_link("x"), a_link("y"))
    crawl.dispatch(1)
    assert crawl.core.wake_at_ms(NOW_MS) is not None
    crawl.restart()
    assert crawl.after(s=49.999).ledger().closed_by is None
    crawl.dispatch(0)
    assert crawl.ledger().closed_by is None
    crawl.after(ms=1).dispatch(0)
    ledger = crawl.ledger()
    assert (ledger.closed_by, ledger.pending, ledger.reasons["skipped"]) == ("expired", 0, {"expired": 2})
    (report,) = crawl.core.progress(crawl.now_ms)
    assert report.closed == "expired"


def test_of_a_blocked_host_nothing_is_sent_and_on_demand_it_is_open_again() -> None:
    crawl = a_crawl("x", "y")
    crawl.fold(HostChanged(key="a.example", blocked=True))
    assert crawl.sends() == []
    crawl.fold(HostChanged(key="a.example"))
    assert crawl.sends() == []
    crawl.fold(RetryAsked(job="j", epoch=2, reason="host_blocked"))
    assert (crawl.sends(), crawl.ledger().skipped) == (["x", "y"], 0)


def test_after_a_rest_a_host_gets_one_probe_at_a_time_until_it_is_forgiven() -> None:
    crawl = a_crawl(*"abcdef", politeness={"delay": 0.0, "concurrency_per_host": 3})
    for request in crawl.dispatch():
        crawl.answer(request, 503, retry_after_s=30.0)
        crawl.end(request, outcome="failed", reason="http_503")
    assert crawl.after(s=29).sends() == []
    (probe,) = crawl.after(s=1).dispatch()
    crawl.finish(probe)
    assert len(crawl.dispatch()) == 2


def test_each_success_forgives_one_refusal() -> None:
    crawl = a_crawl(*(str(number) for number in range(12)), politeness={"delay": 0.0, "concurrency_per_host": 4})
    for _ in range(3):
        for request in crawl.after(s=60).dispatch():
            crawl.answer(request, 429)
            crawl.end(request, outcome="failed", reason="http_429")
    crawl.after(s=60)
    sizes = []
    for _ in range(4):
        requests = crawl.dispatch()
        sizes.append(len(requests))
        for request in requests:
            crawl.finish(request)
    assert sizes == [1, 1, 1, 3]


def test_a_request_that_was_given_back_is_sent_again_with_the_same_try_and_says_nothing_of_its_host() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.fold(a_job(version=2, wanted="paused"))
    crawl.fold(
        Fetched(job="j", fp="x", key="a.example", reason="paused", sent_at_ms=request.sent_at_ms, at_ms=crawl.now_ms)
    )
    assert (crawl.sends(), crawl.core.outstanding) == ([], 0)
    crawl.fold(a_job(version=3))
    assert [again.attempt for again in crawl.after(ms=1).dispatch()] == [0]
    crawl.core.host_reports(crawl.now_ms)
    assert crawl.core._cache.host("a.example").fetches == 0


@pytest.mark.parametrize(("asked_s", "rest_ms"), [(None, 0), (-5.0, 0), (5.0, 5_000), (1e9, 900_000), (1e308, 900_000)])
def test_retry_after_is_neither_negative_nor_absurd(asked_s: float | None, rest_ms: int) -> None:
    assert asked_rest_ms(asked_s) == rest_ms


@pytest.mark.parametrize(
    ("asked_ms", "crawl_delay_ms", "factor", "latency_ms", "delay_ms"),
    [
        (1_000, 0, 0.0, 9_000.0, 1_000),
        (1_000, 0, 5.0, 100.0, 1_000),
        (1_000, 0, 5.0, 900.0, 4_500),
        (1_000, 0, 5.0, 90_000.0, 60_000),
        (1_000, 7_000, 5.0, 100.0, 7_000),
        (1_000, 999_000, 0.0, None, 60_000),
        (90_000, 999_000, 5.0, 99_000.0, 90_000),
    ],
)
def test_a_delay_follows_latency_and_crawl_delay_up_to_the_most_a_job_allows(
    asked_ms: int, crawl_delay_ms: int, factor: float, latency_ms: float | None, delay_ms: int
) -> None:
    assert delay_between_ms(asked_ms, 60_000, crawl_delay_ms, factor, latency_ms) == delay_ms


def test_a_slow_host_is_asked_less_often() -> None:
    crawl = a_crawl("x", "y", politeness={"delay": 1.0, "concurrency_per_host": 1, "latency_factor": 3.0})
    (request,) = crawl.dispatch()
    crawl.answer(request, duration_ms=2_000.0)
    crawl.dispatch()
    assert crawl.after(s=5.999).sends() == []
    assert crawl.after(ms=1).sends() == ["y"]
