"""How gently a host is treated (design §3 I)."""

from itertools import pairwise

import pytest

from odradek.contracts import Fetched, HostChanged, Parsed
from odradek_scheduler.core.politeness import (
    BACK_OFF_MOST_MS,
    RETRY_AFTER_MOST_MS,
    Pace,
    answer_heard,
    back_off_ms,
)
from odradek_scheduler.core.state import Host

from .harness import NOW_MS, Crawl, a_job, a_link


def test_a_burst_of_refusals_is_one_back_off() -> None:
    """With sixty requests in flight, sixty answers of 503 come at once."""
    once, often = Host(), Host()
    answer_heard(once, an_answer(503))
    for _ in range(60):
        answer_heard(often, an_answer(503))
    assert (often.back_off_until_ms, often.streak, often.failures) == (once.back_off_until_ms, 1, 60)


def a_crawl(links: int = 3, **politeness: object) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(politeness={"delay": 1.0, "concurrency_per_host": 1, **politeness}))
    crawl.fold(*(a_link(str(number)) for number in range(links)))
    return crawl


def an_answer(status: int | None = 200, **more: object) -> Fetched:
    return Fetched(job="j", fp="x", key="a.example", status=status, **({"at_ms": NOW_MS} | more))  # type: ignore[arg-type]  # a builder


def test_a_host_gets_one_request_at_a_time() -> None:
    crawl = a_crawl()
    assert crawl.sends() == ["0"]
    assert crawl.after(s=10).sends() == []


def test_the_delay_runs_from_the_receipt_of_the_answer() -> None:
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    crawl.after(s=5).answer(request)
    assert crawl.sends() == []
    assert crawl.after(ms=999).sends() == []
    assert crawl.after(ms=1).sends() == ["1"]


def test_an_answer_told_late_delays_from_when_it_is_heard() -> None:
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    crawl.answer(request)
    crawl.after(s=3)
    assert crawl.sends() == []
    assert crawl.after(s=1).sends() == ["1"]


def test_with_concurrency_n_there_are_n_chains() -> None:
    crawl = a_crawl(5, concurrency_per_host=2)
    first, second = crawl.dispatch()
    crawl.answer(first)
    assert crawl.sends() == []
    crawl.after(ms=500).answer(second)
    assert crawl.sends() == []
    assert crawl.after(ms=500).sends() == ["2"]
    assert crawl.after(ms=500).sends() == ["3"]


def test_an_outcome_that_overtakes_its_answer_does_not_free_the_host() -> None:
    crawl = a_crawl(delay=0.0)
    (request,) = crawl.dispatch()
    crawl.end(request)
    assert crawl.sends() == []
    crawl.answer(request)
    assert crawl.sends() == ["1"]


def test_an_old_answer_does_not_free_the_host_of_a_newer_request() -> None:
    crawl = a_crawl(1, delay=0.0)
    (first,) = crawl.dispatch()
    crawl.fold(a_link("other"))
    (again,) = crawl.after(s=61).dispatch()
    assert (again.fp, again.attempt) == (first.fp, first.attempt)
    crawl.answer(first)
    assert crawl.sends() == []
    crawl.answer(again)
    assert crawl.sends() == ["other"]


def test_a_delay_survives_a_restart() -> None:
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.after(ms=400).restart()
    assert crawl.sends() == []
    assert crawl.after(ms=600).sends() == ["1"]


@pytest.mark.parametrize("restarted", ["before", "after"])
def test_a_host_rests_from_an_answer_that_only_its_outcome_tells_of(*, restarted: str) -> None:
    """The fetcher was killed between the page and its `Fetched`, and its request is in the topic no more."""
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    if restarted == "before":
        crawl.restart()
    answered_ms = crawl.now_ms
    crawl.after(ms=100).end(request, fetched_at_ms=answered_ms)
    if restarted == "after":
        crawl.restart()
    assert crawl.sends() == []
    assert crawl.after(ms=899 if restarted == "after" else 999).sends() == []
    assert crawl.after(ms=1).sends() == ["1"]


def test_an_outcome_that_tells_of_an_answer_known_already_changes_nothing_of_its_host() -> None:
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    crawl.answer(request)
    before = crawl.tables.values["hosts"].copy()
    crawl.end(request, fetched_at_ms=crawl.now_ms)
    assert crawl.tables.values["hosts"] == before


def test_an_outcome_folded_again_writes_the_rest_of_its_host_again() -> None:
    crawl = a_crawl()
    (request,) = crawl.dispatch()
    outcome = Parsed(job="j", fp=request.fp, key="a.example", outcome="fetched", fetched_at_ms=crawl.now_ms)
    first = crawl.fold(outcome)
    crawl.offset -= 1
    assert crawl.fold(outcome) == first
    assert "hosts" in {write.table for write in first}


def test_of_two_jobs_on_a_host_the_gentlest_sets_the_pace() -> None:
    crawl = a_crawl(delay=5.0)
    crawl.fold(a_job("k", politeness={"delay": 1.0, "concurrency_per_host": 4}), a_link("k", job="k"))
    (request,) = crawl.dispatch()
    crawl.answer(request)
    assert crawl.sends() == []
    assert crawl.after(s=1).sends() == []
    assert len(crawl.after(s=4).sends()) == 1


def test_a_host_that_asks_for_rest_gets_it_and_more_each_time() -> None:
    host = Host()
    spans = []
    for _ in range(4):
        at_ms = max(NOW_MS, host.back_off_until_ms)
        answer_heard(host, an_answer(429, at_ms=at_ms))
        spans.append(host.back_off_until_ms - at_ms)
    assert all(earlier * 1.5 < later for earlier, later in pairwise(spans))
    assert host.streak == 4


def test_an_answer_that_is_no_trouble_ends_the_streak() -> None:
    host = Host()
    answer_heard(host, an_answer(503))
    answer_heard(host, an_answer(404, at_ms=host.back_off_until_ms))
    assert (host.streak, host.failures, host.fetches) == (0, 1, 2)


def test_two_failures_in_a_row_are_tolerated_and_the_third_is_not() -> None:
    host = Host()
    for _ in range(2):
        answer_heard(host, an_answer(None, reason="connect"))
    assert host.back_off_until_ms == 0
    answer_heard(host, an_answer(None, reason="connect"))
    assert host.back_off_until_ms > NOW_MS


@pytest.mark.parametrize(("asked_s", "waits_ms"), [(30.0, 30_000), (10_000_000.0, RETRY_AFTER_MOST_MS)])
def test_retry_after_is_obeyed_within_reason(asked_s: float, waits_ms: int) -> None:
    assert back_off_ms("a.example", 1, asked_s) == waits_ms


def test_back_off_is_bounded_and_the_same_for_the_same_host() -> None:
    assert back_off_ms("a.example", 50, None) == back_off_ms("a.example", 50, None) <= BACK_OFF_MOST_MS * 1.25
    assert len({back_off_ms(f"{name}.example", 3, None) for name in "abcdefgh"}) > 4


def test_back_off_holds_all_jobs_and_survives_a_restart() -> None:
    crawl = a_crawl(delay=0.0)
    (request,) = crawl.dispatch()
    crawl.answer(request, 503, retry_after_s=60.0)
    crawl.end(request, outcome="failed", reason="http_503")
    crawl.restart()
    assert crawl.after(s=59).sends() == []
    assert crawl.after(s=1).sends() == ["1"]


def test_a_person_may_slow_a_host_down_and_let_it_go_again() -> None:
    crawl = a_crawl(delay=0.0)
    crawl.fold(HostChanged(key="a.example", delay_ms=10_000))
    (request,) = crawl.dispatch()
    crawl.answer(request)
    assert crawl.after(s=9).sends() == []
    crawl.fold(HostChanged(key="a.example"))
    assert crawl.sends() == ["1"]


def test_urls_of_a_blocked_host_are_skipped() -> None:
    crawl = a_crawl()
    crawl.fold(HostChanged(key="a.example", blocked=True))
    assert crawl.sends() == []
    assert crawl.ledger().reasons["skipped"] == {"host_blocked": 3}
    assert [event.event.reason for event in crawl.events] == ["host_blocked"] * 3


def test_a_chain_that_was_never_used_is_free_at_once() -> None:
    pace = Pace()
    assert pace.free_at_ms(2, 1000) == 0
    pace.sent(2)
    pace.answered(1, NOW_MS)
    pace.in_flight -= 1
    assert pace.free_at_ms(2, 1000) == 0
    assert pace.free_at_ms(1, 1000) == NOW_MS + 1000
