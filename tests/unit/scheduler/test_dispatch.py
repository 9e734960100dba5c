"""What is sent, in which order, and what bounds it."""

import pytest

from odradek.contracts import FetchRequest, Grant, Hop, SkipRest
from odradek_scheduler.core.budget import WINDOW
from odradek_scheduler.core.clearing import TICK_MS
from odradek_scheduler.core.learning import UNPARSED_LEASE_MS
from odradek_scheduler.core.partition import Partition
from odradek_scheduler.core.permits import PATIENT_MS
from odradek_scheduler.core.tables import TableName

from .harness import NOW_MS, Crawl, MemoryTables, a_job, a_link


def a_crawl(*links: str, limits: dict[str, int] | None = None, **spec: object) -> Crawl:
    crawl = Crawl(**(limits or {}))
    crawl.fold(a_job(**spec))
    for name in links:
        crawl.fold(a_link(name))
    return crawl


def test_a_request_carries_all_that_was_discovered() -> None:
    crawl = a_crawl()
    chain = (Hop(url="https://a.example/old", status=301),)
    more = {
        "depth": 3,
        "priority": 70,
        "seed": True,
        "via": "https://a.example/",
        "site": "a.example",
        "meta": {"k": 1},
    }
    crawl.fold(a_link("x", chain=chain, **more))
    assert crawl.dispatch() == [
        FetchRequest(
            job="j", url="https://a.example/x", fp="x", key="a.example", chain=chain, spec_version=1,
            sent_at_ms=NOW_MS, lease_until_ms=NOW_MS + 60_000, **more,
        )
    ]  # fmt: skip


def test_nothing_is_sent_before_the_take_over_is_done() -> None:
    crawl = Crawl(release=False)
    crawl.core.catch_up_to(3)
    crawl.fold(a_job())
    crawl.core.release(NOW_MS)
    crawl.fold(a_link("x"))
    assert (crawl.core.recovering, crawl.sends()) == (True, [])
    crawl.fold(a_link("y"))
    assert (crawl.core.recovering, crawl.sends()) == (False, ["x", "y"])


def test_a_job_not_heard_of_sends_nothing_until_it_is() -> None:
    crawl = Crawl()
    crawl.fold(a_link("x"))
    assert crawl.sends() == []
    crawl.fold(a_job())
    assert crawl.sends() == ["x"]


def test_a_paused_job_accepts_and_sends_nothing_until_it_is_resumed() -> None:
    crawl = a_crawl("x")
    crawl.fold(a_job(version=2, wanted="paused"))
    crawl.fold(a_link("y"))
    assert (crawl.ledger().accepted, crawl.sends()) == (2, [])
    crawl.fold(a_job(version=3))
    assert crawl.sends() == ["x", "y"]


@pytest.mark.parametrize(("strategy", "order"), [("breadth_first", "abc"), ("depth_first", "cba")])
def test_the_strategy_decides_between_pages(strategy: str, order: str) -> None:
    assert a_crawl(*"abc", strategy=strategy).sends() == list(order)


def test_a_change_of_strategy_changes_the_order_of_what_waits() -> None:
    crawl = a_crawl(*"abc")
    assert crawl.sends(1) == ["a"]
    crawl.fold(a_job(version=2, strategy="depth_first"))
    assert crawl.sends() == ["c", "b"]


def test_a_higher_priority_overtakes_at_once() -> None:
    crawl = a_crawl(*"abc")
    assert crawl.sends(1) == ["a"]
    crawl.fold(a_link("urgent", priority=90), a_link("idle", priority=10))
    assert crawl.sends() == ["urgent", "b", "c", "idle"]


def test_a_job_of_higher_priority_goes_first_on_all_hosts() -> None:
    crawl = a_crawl(*"ab", priority=10)
    crawl.fold(a_job("k", priority=90))
    crawl.fold(*(a_link(f"k{number}", job="k", host=f"h{number}.example") for number in range(3)))
    assert crawl.sends() == ["k0", "k1", "k2", "a", "b"]


def test_jobs_of_one_priority_take_turns_however_many_hosts_they_have() -> None:
    crawl = a_crawl()
    crawl.fold(a_job("k"))
    crawl.fold(*(a_link(f"j{number}", host=f"h{number}.example") for number in range(50)))
    crawl.fold(*(a_link(f"k{number}", job="k", host="k.example") for number in range(5)))
    first = crawl.sends(10)
    assert sum(name.startswith("k") for name in first) == 5


def test_hosts_of_a_job_take_turns() -> None:
    crawl = a_crawl()
    crawl.fold(*(a_link(f"{host}{number}", host=f"{host}.example") for host in "ab" for number in range(3)))
    assert crawl.sends(4) == ["a0", "b0", "a1", "b1"]


def test_credit_bounds_what_is_sent() -> None:
    crawl = a_crawl(*"abcde")
    assert (crawl.sends(2), crawl.core.outstanding) == (["a", "b"], 2)


def test_an_answer_gives_its_credit_back() -> None:
    crawl = a_crawl("a")
    (request,) = crawl.dispatch()
    crawl.answer(request)
    assert crawl.core.outstanding == 0


def test_when_the_parsers_are_behind_nothing_is_sent() -> None:
    crawl = a_crawl(*"abc", limits={"unparsed": 2})
    first, second = crawl.dispatch(2)
    crawl.answer(first)
    crawl.answer(second)
    assert crawl.sends() == []
    (report,) = crawl.core.progress(NOW_MS)
    assert report.limiting == "The parsers are behind: 2 pages or more are fetched and not parsed."
    crawl.end(first)
    assert crawl.sends() == ["c"]


def test_a_lease_that_passes_makes_the_url_due_again_with_the_same_try() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    assert crawl.after(s=59).dispatch() == []
    (again,) = crawl.after(s=1).dispatch()
    assert (again.fp, again.attempt, crawl.core.outstanding) == (request.fp, request.attempt, 1)


def test_a_page_that_was_fetched_and_never_parsed_is_fetched_again_in_the_end() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.answer(request)
    assert crawl.after(ms=UNPARSED_LEASE_MS).dispatch() == []
    assert len(crawl.after(s=60).dispatch()) == 1


def test_a_retry_is_sent_when_it_is_due_with_the_next_try() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.answer(request, None, reason="reset")
    crawl.end(request, outcome="failed", reason="reset", retry_in_ms=5000)
    assert crawl.after(ms=4999).dispatch() == []
    (again,) = crawl.after(ms=1).dispatch()
    assert again.attempt == 1


def test_a_retry_is_still_due_after_a_restart() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.answer(request)
    crawl.end(request, outcome="failed", reason="http_500", retry_in_ms=5000)
    crawl.restart()
    assert crawl.dispatch() == []
    assert [again.attempt for again in crawl.after(s=5).dispatch()] == [1]


def test_a_restart_sends_what_is_open_and_nothing_else() -> None:
    crawl = a_crawl(*"abc")
    for request in crawl.dispatch(2):
        crawl.finish(request)
    crawl.restart()
    assert crawl.sends() == ["c"]


def test_a_page_ends_with_its_last_url() -> None:
    crawl = a_crawl()
    crawl.fold(a_link("x"), a_link("y"))
    first, second = crawl.dispatch()
    crawl.finish(first)
    assert crawl.pages() == [("a.example", 50, 1)]
    crawl.finish(second)
    assert crawl.pages() == []


def test_a_page_found_without_an_open_url_ends_with_the_next_batch() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.finish(request)
    stale = crawl.fold(a_link("y"))
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.tables.write([write for write in stale if write.table == "backlog"])
    crawl.restart()
    assert crawl.dispatch() == []
    assert len(crawl.pages()) == 1
    crawl.after(ms=TICK_MS).dispatch()
    assert crawl.pages() == []


def test_pages_of_a_cancelled_job_end_too() -> None:
    crawl = a_crawl(*"abc")
    crawl.fold(a_job(version=2, wanted="cancelled"))
    crawl.fold(a_link("late"))
    assert (crawl.pages(), crawl.sends()) == ([], [])


def test_a_host_limit_is_exact_and_skips_the_rest() -> None:
    crawl = a_crawl(*"abcd", scope={"max_pages_per_host": 2})
    first, second = crawl.dispatch()
    assert crawl.dispatch() == []
    crawl.finish(first)
    crawl.finish(second, outcome="failed", reason="http_404")
    (third,) = crawl.dispatch()
    crawl.finish(third)
    assert crawl.dispatch() == []
    ledger = crawl.ledger()
    assert (ledger.kept, ledger.reasons["skipped"], ledger.pending) == (2, {"budget_host": 1}, 0)


def test_a_host_limit_is_kept_over_a_restart() -> None:
    crawl = a_crawl(*"ab", scope={"max_pages_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.restart()
    assert crawl.dispatch() == []
    assert crawl.ledger().reasons["skipped"] == {"budget_host": 1}


def test_only_urls_with_a_permit_are_sent_and_no_more_than_granted() -> None:
    crawl = a_crawl(*"abcd", scope={"max_pages": 2})
    requests = crawl.dispatch()
    ledger = crawl.ledger()
    assert (len(requests), ledger.granted, sorted(ledger.holders)) == (2, 2, ["a", "b"])


def test_a_permit_of_a_failed_url_goes_to_the_next() -> None:
    crawl = a_crawl(*"abc", scope={"max_pages": 1})
    for _ in range(2):
        (request,) = crawl.dispatch()
        crawl.finish(request, outcome="failed", reason="http_404")
    (request,) = crawl.after(s=1).dispatch()
    crawl.finish(request)
    assert (request.fp, crawl.ledger().kept) == ("c", 1)


def test_a_permit_stays_with_its_url_through_retries_and_a_restart() -> None:
    crawl = a_crawl(*"ab", scope={"max_pages": 1})
    (request,) = crawl.dispatch()
    crawl.answer(request, None, reason="reset")
    crawl.end(request, outcome="failed", reason="reset", retry_in_ms=5000)
    assert crawl.dispatch() == []
    crawl.restart()
    assert crawl.dispatch() == []
    assert [(again.fp, again.attempt) for again in crawl.after(s=5).dispatch()] == [("a", 1)]


@pytest.mark.parametrize("restarted", [False, True])
def test_urls_that_wait_for_their_next_try_hold_up_no_other_url_of_their_host(*, restarted: bool) -> None:
    crawl = a_crawl(*"abcd", scope={"max_pages": 3}, politeness={"delay": 0.0, "concurrency_per_host": 1})
    for _ in range(2):
        (request,) = crawl.dispatch()
        crawl.answer(request, None, reason="reset")
        crawl.end(request, outcome="failed", reason="reset", retry_in_ms=300_000)
    if restarted:
        crawl.restart()
    (request,) = crawl.dispatch()
    crawl.finish(request)
    assert (request.fp, crawl.dispatch()) == ("c", [])
    (again,) = crawl.after(s=300).dispatch()
    assert (again.fp, again.attempt) == ("a", 1)


def test_when_the_pages_are_kept_the_rest_is_skipped() -> None:
    crawl = a_crawl(*"abc", scope={"max_pages": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.after(s=1).dispatch()
    ledger = crawl.ledger()
    assert (ledger.kept, ledger.skipped, ledger.pending, ledger.closed_by) == (1, 2, 0, "budget_pages")


def test_grants_and_skips_told_twice_are_told_once() -> None:
    crawl = a_crawl(*"ab", scope={"max_pages": 1})
    crawl.fold(Grant(job="j", granted=1), Grant(job="j", granted=1))
    crawl.fold(SkipRest(job="j"), SkipRest(job="j"))
    crawl.fold(SkipRest(job="j"))
    ledger = crawl.ledger()
    assert (ledger.granted, ledger.skipped, ledger.closed_at) == (1, 2, 4)


def test_it_says_when_it_wants_to_be_called() -> None:
    crawl = a_crawl("x", "y", politeness={"delay": 2.0, "concurrency_per_host": 1})
    assert crawl.core.wake_at_ms(NOW_MS) == 0
    (request,) = crawl.dispatch()
    assert crawl.core.wake_at_ms(NOW_MS) == request.lease_until_ms
    crawl.finish(request)
    crawl.dispatch()
    assert crawl.core.wake_at_ms(NOW_MS) == NOW_MS + 2000


def test_it_forgets_hosts_that_have_nothing_left() -> None:
    crawl = a_crawl("x", politeness={"delay": 2.0, "concurrency_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.dispatch()
    crawl.after(s=2).dispatch()
    crawl.after(s=60).dispatch()
    assert (crawl.core._memory.hosts, crawl.core._memory.flights) == ({}, {})


def test_a_host_met_again_within_its_delay_still_rests() -> None:
    crawl = a_crawl("x", politeness={"delay": 2.0, "concurrency_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.dispatch()
    crawl.after(s=1).fold(a_link("y"))
    assert crawl.sends() == []
    assert crawl.after(s=1).sends() == ["y"]


def test_a_call_looks_at_a_bounded_number_of_urls() -> None:
    crawl = a_crawl(limits={"visits": 10})
    crawl.fold(*(a_link(str(number)) for number in range(30)))
    sent = crawl.core.dispatch(NOW_MS, 1000)
    assert len(sent.requests) == 10
    assert crawl.core.wake_at_ms(NOW_MS) == NOW_MS


def test_the_fold_goes_on_while_the_memory_is_built() -> None:
    crawl = a_crawl("a", "b")
    crawl.fold(a_job("k"))
    crawl.fold(a_link("k", job="k"))
    crawl.core = Partition(0, 1, crawl.tables, crawl.limits)
    crawl.core.load()
    crawl.core.resume_at(crawl.offset)
    steps = crawl.core.releasing(NOW_MS, pages_a_step=1)
    next(steps)
    crawl.fold(a_link("c"))
    crawl.fold(a_job("k", version=2, wanted="cancelled"))
    assert not crawl.core.dispatching
    assert len(list(steps)) == 3
    assert crawl.sends() == ["a", "b", "c"]


def test_without_its_limit_a_job_goes_on() -> None:
    crawl = a_crawl(*"abc", scope={"max_pages": 1, "max_pages_per_host": 9})
    assert crawl.sends() == ["a"]
    crawl.fold(a_job(version=2, scope={"max_pages_per_host": 9}))
    assert crawl.sends() == ["b", "c"]


def test_a_retry_keeps_its_share_of_the_host() -> None:
    crawl = a_crawl(*"ab", scope={"max_pages_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.answer(request)
    crawl.end(request, outcome="failed", reason="reset", retry_in_ms=5000)
    crawl.restart()
    assert crawl.sends() == []
    assert crawl.after(s=5).sends() == ["a"]


class CountedTables(MemoryTables):
    """Counts what is read."""

    reads = 0

    def get(self, table: TableName, key: bytes) -> bytes | None:
        self.reads += 1
        return super().get(table, key)


@pytest.mark.parametrize("hosts", [600, 1200])
def test_a_permit_that_is_free_again_wakes_one_host_and_not_all_that_wait_for_one(hosts: int) -> None:
    tables = CountedTables()
    crawl = Crawl(tables=tables)
    crawl.fold(a_job(scope={"max_pages": 100_000}))
    crawl.fold(*(a_link(f"{number}", f"{number}.example") for number in range(hosts)))
    sent = crawl.dispatch()
    crawl.finish(sent[0])
    crawl.after(ms=PATIENT_MS)
    tables.reads = 0
    assert (len(sent), len(crawl.dispatch())) == (WINDOW, 1)
    assert tables.reads < 20
