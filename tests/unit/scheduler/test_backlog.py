"""A large backlog stays small in memory, and what ends in it is cleared away little by little."""

from collections.abc import Iterable
from itertools import pairwise

import pytest

from odradek.contracts import Merged, Reserve
from odradek_scheduler.core.clearing import FAST_TICK_MS
from odradek_scheduler.core.partition import Partition
from odradek_scheduler.core.queues import MERGE_AT

from .harness import Crawl, a_job, a_link


def a_backlog(links: Iterable[int], host: str = "a.example", **spec: object) -> Crawl:
    """Each link on a page of its own."""
    crawl = Crawl()
    crawl.fold(a_job(**spec))
    for number in links:
        crawl.fold(a_link(f"{number:06d}", host))
    return crawl


def said(crawl: Crawl, credit: int = 0) -> list[object]:
    """What the partition tells itself in one dispatch, folded."""
    facts = [fact for _, fact in crawl.core.dispatch(crawl.now_ms, credit).facts]
    if facts:
        crawl.fold(*facts)
    return facts


def test_many_small_pages_of_a_host_become_one_that_holds_all_urls() -> None:
    crawl = a_backlog(range(MERGE_AT + 40))
    (merged,) = said(crawl)
    assert isinstance(merged, Merged)
    assert (merged.sources[0], len(merged.sources)) == (1, MERGE_AT + 40)
    assert len(crawl.pages()) == 1
    assert said(crawl) == []
    assert crawl.sends() == [f"{number:06d}" for number in range(100)]


def test_few_small_pages_and_those_of_a_depth_first_job_are_left_alone() -> None:
    few = a_backlog(range(MERGE_AT - 1))
    deep = a_backlog(range(3 * MERGE_AT), strategy="depth_first")
    assert (said(few), said(deep)) == ([], [])
    assert deep.sends(credit=2) == [f"{3 * MERGE_AT - 1:06d}", f"{3 * MERGE_AT - 2:06d}"]


def test_pages_of_two_priorities_are_never_merged_into_one() -> None:
    crawl = Crawl()
    crawl.fold(a_job())
    for number in range(2 * MERGE_AT):
        crawl.fold(a_link(f"{number:06d}", priority=90 if number % 2 else 10))
    assert sorted(fact.priority for fact in said(crawl) if isinstance(fact, Merged)) == [10, 90]
    assert sorted(priority for _, priority, _ in crawl.pages()) == [10, 90]
    assert [name[-1] in "13579" for name in crawl.sends()] == [True] * 100


def test_every_url_of_merged_pages_is_sent_once_also_when_some_were_under_way() -> None:
    crawl = a_backlog(range(3 * MERGE_AT), politeness={"concurrency_per_host": 7})
    sent: list[str] = []
    while requests := crawl.dispatch():
        sent += [request.fp for request in requests]
        for request in requests:
            crawl.finish(request)
        crawl.after(s=61)
    assert sorted(sent) == [f"{number:06d}" for number in range(3 * MERGE_AT)]
    assert crawl.ledger().fetched == 3 * MERGE_AT


def test_the_backlog_of_an_unmerged_log_is_merged_after_a_take_over_in_bounded_steps() -> None:
    crawl = Crawl(release=False)
    crawl.fold(a_job())
    for number in range(3000):
        crawl.fold(a_link(f"{number:06d}"))
    crawl.restart()
    merges = [fact for _ in range(10) for fact in said(crawl)]
    assert all(isinstance(fact, Merged) and len(fact.sources) <= 1024 for fact in merges)
    assert len(crawl.pages()) == 3


def test_the_pages_of_a_cancelled_job_get_their_tombstones_little_by_little() -> None:
    crawl = a_backlog(range(1200), strategy="depth_first")
    crawl.fold(a_job(version=2, wanted="cancelled"))
    left = [len(crawl.pages())]
    while crawl.core.wake_at_ms(crawl.now_ms) is not None:
        crawl.after(ms=FAST_TICK_MS)
        said(crawl)
        left.append(len(crawl.pages()))
    assert all(0 <= before - after <= 500 for before, after in pairwise(left))
    assert left[-1] == 0
    assert (crawl.ledger().skipped, crawl.ledger().pending) == (1200, 0)


def test_a_take_over_goes_on_with_clearing_away_what_was_cancelled() -> None:
    crawl = a_backlog(range(1200), strategy="depth_first")
    crawl.fold(a_job(version=2, wanted="cancelled"))
    crawl.restart()
    for _ in range(10):
        crawl.after(ms=FAST_TICK_MS)
        said(crawl)
    assert crawl.pages() == []
    assert crawl.sends() == []


def test_a_host_that_rests_is_looked_at_once_however_many_links_come_meanwhile() -> None:
    crawl = a_backlog([0], politeness={"delay": 3600.0, "concurrency_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    for number in range(1, 50):
        crawl.fold(a_link(f"{number:06d}"))
        assert crawl.dispatch() == []
    assert len(crawl.core._dispatcher.agenda._heap) == 1  # memory is what is at stake


@pytest.mark.parametrize(("cancelled", "sent"), [(False, 40), (True, 0)])
def test_urls_with_a_share_of_their_host_are_taken_over_step_by_step(cancelled: bool, sent: int) -> None:  # noqa: FBT001  (a case)
    """There may be hundreds of thousands; what is folded between two steps holds."""
    crawl = Crawl()
    names = [f"x{number}" for number in range(40)]
    crawl.fold(a_job(scope={"max_pages_per_host": 2}), *(a_link(name, host=f"{name}.example") for name in names))
    crawl.fold(Reserve(job="j", fps=tuple(names)))
    crawl.core = Partition(0, 1, crawl.tables, crawl.limits)
    crawl.core.load()
    crawl.core.resume_at(crawl.offset)
    steps = crawl.core.releasing(crawl.now_ms, pages_a_step=10)
    while not crawl.core._memory.flights:
        next(steps)
    assert len(crawl.core._memory.flights) == 10
    if cancelled:
        crawl.fold(a_job(version=2, wanted="cancelled"))
    list(steps)
    assert len(crawl.dispatch()) == sent


def test_of_pages_that_are_worked_through_only_the_last_used_are_kept_and_all_urls_are_sent_once_in_order() -> None:
    crawl = Crawl(urls_kept=16)
    crawl.fold(a_job(politeness={"concurrency_per_host": 1}))
    hosts = [f"{number}.example" for number in range(6)]
    for host in hosts:
        crawl.fold(*(a_link(f"{host}-{number}", host) for number in range(10)))
    sent = []
    while requests := crawl.dispatch():
        sent += [request.fp for request in requests]
        for request in requests:
            crawl.finish(request)
    assert sent == [f"{host}-{number}" for number in range(10) for host in hosts]


def test_a_page_that_was_merged_while_it_was_worked_through_and_not_kept_ends_and_its_urls_are_sent_once() -> None:
    crawl = Crawl(urls_kept=1)
    crawl.fold(a_job(politeness={"concurrency_per_host": 1}))
    for name in ("a1", "a2"):
        crawl.fold(a_link(f"{name}-0"), a_link(f"{name}-1"))
    crawl.fold(a_link("b-0", "b.example"), a_link("b-1", "b.example"))
    first = crawl.dispatch()
    crawl.fold(Merged(job="j", key="a.example", sources=(1, 2)))
    sent = [request.fp for request in first]
    for request in first:
        crawl.finish(request)
    while requests := crawl.dispatch():
        sent += [request.fp for request in requests]
        for request in requests:
            crawl.finish(request)
    assert sorted(sent) == ["a1-0", "a1-1", "a2-0", "a2-1", "b-0", "b-1"]
    assert crawl.ledger().pending == 0
