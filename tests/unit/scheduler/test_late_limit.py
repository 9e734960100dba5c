"""`max_pages` set on a job that had none: what is kept and under way counts, and nothing beyond it is kept (rule F)."""

import pytest

from odradek.contracts import PermitsReported, Reserve
from odradek_scheduler.core.budget import report_heard
from odradek_scheduler.core.keys import run_id, share_key
from odradek_scheduler.core.partition import Partition
from odradek_scheduler.core.state import Home

from .harness import Crawl, a_job, a_link


def a_crawl(links: str = "abcdefgh", **politeness: object) -> Crawl:
    """A job without a limit, two of whose pages are kept and two under way."""
    crawl = Crawl()
    crawl.fold(a_job(politeness=politeness))
    crawl.fold(*map(a_link, links))
    return crawl


def run_to_its_end(crawl: Crawl) -> None:
    for _ in range(20):
        for request in crawl.after(s=1).dispatch():
            crawl.finish(request)


def test_a_share_of_a_host_does_not_depend_on_what_the_job_has_told_since() -> None:
    """Tables are mutually older and newer after a crash: the share is lost, and the ledger is two batches ahead."""
    crawl = Crawl(release=False)
    crawl.fold(a_job(scope={"max_pages_per_host": 2}))
    crawl.fold(a_link("a"))
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages_per_host": 2, "max_pages": 3}))
    reserved, told = Reserve(job="j", fps=("a",)), Reserve(job="j", fps=(), version=2)
    crawl.fold(reserved)
    key = share_key(run_id("j", 1), "a.example")
    share = crawl.tables.values["ledger"].pop(key, None)
    crawl.fold(told)
    crawl.offset = 3
    crawl.core = Partition(0, 1, crawl.tables, crawl.limits)
    crawl.core.load()
    crawl.core.resume_at(3)
    crawl.fold(reserved)
    assert crawl.tables.values["ledger"].get(key) == share


@pytest.mark.parametrize(("limit", "kept"), [(1, 4), (3, 4), (4, 4), (6, 6), (20, 8)])
def test_as_many_are_kept_as_the_limit_says_or_as_were_kept_and_under_way(limit: int, kept: int) -> None:
    crawl = a_crawl()
    first = crawl.dispatch(2)
    for request in first:
        crawl.finish(request)
    under_way = crawl.dispatch(2)
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": limit}))
    more = crawl.core.dispatch(crawl.now_ms, 100)
    assert more.requests == ()
    for _, fact in more.facts:
        if isinstance(fact, Reserve):
            crawl.fold(fact)
    assert sorted(crawl.ledger().holders) == sorted(request.fp for request in under_way)
    for request in under_way:
        crawl.finish(request)
    run_to_its_end(crawl)
    ledger = crawl.ledger()
    assert (ledger.kept, ledger.pending, ledger.skipped) == (kept, 0, 8 - kept)


def test_room_of_what_was_under_way_and_failed_goes_to_others() -> None:
    crawl = a_crawl()
    under_way = crawl.dispatch(4)
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 4}))
    crawl.dispatch()
    for request in under_way:
        crawl.answer(request, status=404)
        crawl.end(request, outcome="failed", reason="http_404")
    run_to_its_end(crawl)
    assert (crawl.ledger().kept, crawl.ledger().failed) == (4, 4)


def test_a_new_owner_knows_of_nothing_under_way_and_the_limit_is_kept() -> None:
    crawl = a_crawl()
    for request in crawl.dispatch(2):
        crawl.finish(request)
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 5}))
    crawl.restart()
    run_to_its_end(crawl)
    assert (crawl.ledger().kept, crawl.ledger().unarmed) == (5, 0)


def test_nothing_is_granted_before_every_partition_accounts_for_the_limit() -> None:
    home = Home(max_pages=10, version=3, since=3)

    def hear(partition: int, version: int, **more: int) -> list[int]:
        fields = {"offset": 5, "kept": 2, "returned": 0, "wanted": 9} | more
        report_heard(home, PermitsReported(job="j", partition=partition, version=version, **fields), 2)
        return [share.granted for _, share in sorted(home.shares.items())]

    assert hear(0, 3) == [0]
    assert hear(1, 0) == [0, 0]
    assert hear(1, 3, offset=6, held=3) == [5, 0]


def test_a_limit_from_the_beginning_waits_for_no_partition() -> None:
    home = Home(max_pages=10, version=1)
    report_heard(home, PermitsReported(job="j", partition=0, offset=1, kept=0, returned=0, wanted=4), 12)
    assert home.shares[0].granted == 4


def test_limits_taken_away_and_set_again_count_what_came_between() -> None:
    crawl = a_crawl()
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 2}))
    run_to_its_end(crawl)
    crawl.fold(a_job(version=3, epoch=3))
    for request in crawl.after(s=1).dispatch(3):
        crawl.finish(request)
    crawl.fold(a_job(version=4, epoch=4, scope={"max_pages": 6}))
    run_to_its_end(crawl)
    assert (crawl.ledger().kept, crawl.ledger().skipped) == (6, 2)


def test_reports_end_when_nothing_is_left_to_say() -> None:
    crawl = a_crawl("ab")
    for request in crawl.dispatch():
        crawl.finish(request)
    crawl.fold(a_job(version=2, epoch=2, scope={"max_pages": 2}))
    run_to_its_end(crawl)
    folded = crawl.offset
    for _ in range(5):
        crawl.after(s=60).dispatch()
    assert crawl.offset == folded
