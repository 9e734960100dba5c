"""Requests that are out when their run ends: their answers make room for other jobs, whether a page follows or not."""

import pytest

from odradek.contracts import Fact, FetchRequest, JobPurged

from .harness import NOW_MS, Crawl, a_job, a_link


def a_crawl_with_all_its_room_taken() -> tuple[Crawl, list[FetchRequest]]:
    crawl = Crawl(unparsed=2)
    crawl.fold(a_job(), a_job("other"))
    crawl.fold(a_link("a"), a_link("b"))
    requests = crawl.dispatch()
    crawl.fold(*(a_link(name, job="other", host="b.example") for name in "cd"))
    return crawl, requests


@pytest.mark.parametrize("end", [a_job(version=2, wanted="cancelled"), JobPurged(job="j", at_ms=5)])
@pytest.mark.parametrize("status", [None, 200])
def test_what_is_answered_after_the_end_waits_for_no_outcome(end: Fact, status: int | None) -> None:
    crawl, requests = a_crawl_with_all_its_room_taken()
    crawl.fold(end)
    for each in requests:
        crawl.answer(each, status=status)
    assert sorted(each.fp for each in crawl.dispatch()) == ["c", "d"]


def test_a_cancelled_job_has_nothing_in_flight_once_all_is_answered() -> None:
    crawl, requests = a_crawl_with_all_its_room_taken()
    crawl.fold(a_job(version=2, wanted="cancelled"))
    for each in requests:
        crawl.answer(each, status=None)
    assert {each.job: each.in_flight for each in crawl.core.progress(NOW_MS)} == {"j": 0, "other": 0}


def test_the_outcome_of_what_was_fetched_before_the_end_is_late() -> None:
    crawl, requests = a_crawl_with_all_its_room_taken()
    crawl.fold(a_job(version=2, wanted="cancelled"))
    for each in requests:
        crawl.finish(each)
    ledger = crawl.ledger()
    assert (ledger.accepted, ledger.skipped, ledger.late, ledger.pending) == (2, 2, 2, 0)
