"""Requests that a fetcher gives back: who may be asked again, and when (rules D, I)."""

from typing import Any

import pytest

from odradek.contracts import GIVEN_BACK, FetchRequest, RobotsFetched

from .harness import Crawl, a_job, a_link

POLITE = {"delay": 1.0, "concurrency_per_host": 1}


def a_crawl(*links: str, **spec: Any) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(**spec))
    crawl.fold(*map(a_link, links))
    return crawl


def give_back(crawl: Crawl, request: FetchRequest, reason: str = "inherited") -> None:
    crawl.answer(request, status=None, reason=reason)


@pytest.mark.parametrize("reason", sorted(GIVEN_BACK))
def test_it_is_sent_again_with_the_same_try_after_the_delay_of_its_host(reason: str) -> None:
    crawl = a_crawl("x", "y", politeness=POLITE)
    (request,) = crawl.dispatch()
    give_back(crawl, request, reason)
    crawl.dispatch()
    assert crawl.after(ms=999).dispatch() == []
    first = crawl.after(ms=1).dispatch()
    for each in first:
        crawl.finish(each)
    crawl.dispatch()
    again = [*first, *crawl.after(s=1).dispatch()]
    assert sorted((each.fp, each.attempt) for each in again) == [("x", 0), ("y", 0)]
    assert (crawl.ledger().retries, crawl.kinds("x")[0]) == (0, "accepted")


def test_one_that_was_answered_all_the_same_is_not_sent_again() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.answer(request)
    give_back(crawl, request)
    assert crawl.after(s=5).dispatch() == []
    crawl.end(request)
    assert (crawl.ledger().fetched, crawl.ledger().late) == (1, 0)


def test_one_whose_page_is_known_already_only_frees_its_host() -> None:
    crawl = a_crawl("x", "y", politeness=POLITE)
    (request,) = crawl.dispatch()
    crawl.end(request)
    give_back(crawl, request)
    crawl.dispatch()
    assert [each.fp for each in crawl.after(s=1).dispatch()] == ["y"]


def test_what_was_given_back_before_does_not_free_the_host_of_the_request_sent_since() -> None:
    crawl = a_crawl("x", "y", politeness=POLITE)
    (request,) = crawl.dispatch()
    give_back(crawl, request)
    crawl.dispatch()
    (again,) = crawl.after(s=1).dispatch()
    for reason in ("abandoned", "inherited"):
        give_back(crawl, request, reason)
    assert crawl.after(s=5).dispatch() == []
    assert crawl.core.outstanding == 1
    crawl.finish(again)
    crawl.dispatch()
    assert len(crawl.after(s=1).dispatch()) == 1


def test_one_with_a_permit_keeps_it() -> None:
    crawl = a_crawl("x", "y", scope={"max_pages": 1})
    (request,) = crawl.dispatch()
    give_back(crawl, request)
    assert [each.fp for each in crawl.after(ms=1).dispatch()] == [request.fp]
    assert crawl.ledger().holders == [request.fp]


def test_one_of_a_cancelled_job_is_not_sent_again() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.fold(a_job(version=2, wanted="cancelled"))
    give_back(crawl, request)
    assert (crawl.after(s=5).dispatch(), crawl.core.outstanding) == ([], 0)


@pytest.mark.parametrize(("reason", "wait_ms"), [("inherited", 1_000), ("abandoned", 1_000), ("overdue", 0)])
def test_a_new_owner_lets_a_host_rest_that_may_have_been_asked(reason: str, wait_ms: int) -> None:
    crawl = a_crawl("x", politeness=POLITE)
    (request,) = crawl.dispatch()
    give_back(crawl, request, reason)
    crawl.restart()
    waited = next(ms for ms in range(0, 2_000, 250) if crawl.after(ms=250 if ms else 0).dispatch())
    assert waited == wait_ms


def test_robots_txt_given_back_is_asked_for_again_and_is_no_failure() -> None:
    crawl = a_crawl("x", politeness={"respect_robots": True, **POLITE})
    (request,) = crawl.dispatch()
    assert request.kind == "robots"

    def given_back(of: FetchRequest) -> RobotsFetched:
        return RobotsFetched(
            key="a.example", origin="https://a.example", reason="inherited", lease_until_ms=of.lease_until_ms,
            at_ms=crawl.now_ms,
        )  # fmt: skip

    crawl.fold(given_back(request))
    crawl.dispatch()
    assert crawl.after(ms=999).dispatch() == []
    (again,) = crawl.after(ms=1).dispatch()
    assert again.kind == "robots"
    crawl.fold(given_back(request))
    assert crawl.after(s=5).dispatch() == []
    crawl.robots("", lease_until_ms=again.lease_until_ms)
    crawl.dispatch()
    assert [each.fp for each in crawl.after(s=1).dispatch()] == ["x"]


def test_a_late_answer_to_a_request_before_leaves_the_host_busy() -> None:
    crawl = a_crawl("x", politeness={"respect_robots": True, **POLITE})
    (request,) = crawl.dispatch()
    crawl.after(s=61).dispatch()
    (again,) = crawl.after(s=1).dispatch()
    crawl.robots("", lease_until_ms=request.lease_until_ms)
    crawl.dispatch()
    assert crawl.after(s=5).dispatch() == []
    crawl.robots("", lease_until_ms=again.lease_until_ms)
    crawl.dispatch()
    assert [each.fp for each in crawl.after(s=1).dispatch()] == ["x"]
