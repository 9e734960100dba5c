"""Recurring jobs while a person steers them: other schedules, ends and purges, whenever they come."""

import pytest

from odradek.contracts import JobChanged, JobPurged

from .harness import NOW_MS, a_job
from .test_runs import HOUR_MS, Recurring, in_the_midst_of_a_renewal, names


def test_a_schedule_that_is_changed_while_a_run_is_under_way_counts_from_when_that_was_due() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    (request,) = crawl.next_run()
    crawl.fold(a_job(version=2, schedule={"every": "2h"}))
    crawl.dispatch()
    crawl.finish(request)
    crawl.end_run()
    assert crawl.plan.next_at_ms == NOW_MS + 3 * HOUR_MS
    crawl.fold(a_job(version=3, schedule={"every": "10m"}))
    crawl.dispatch()
    assert crawl.plan.next_at_ms == NOW_MS + HOUR_MS + HOUR_MS // 6


def test_a_schedule_that_is_taken_away_begins_no_run_and_one_that_is_given_again_does() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.fold(a_job(version=2))
    assert crawl.after(s=36_000).dispatch() == []
    crawl.fold(a_job(version=3, schedule={"every": "10m"}))
    assert names(crawl.dispatch()) == ["a"]


@pytest.mark.parametrize("scope", [{}, {"max_pages": 1}])
def test_a_job_that_expires_between_two_runs_begins_no_other(scope: dict[str, int]) -> None:
    crawl = Recurring("a", "b", expires="90m", schedule={"every": "2h"}, scope=scope)
    for _ in range(3):
        crawl.after(s=1).crawl_all()
    crawl.end_run()
    for _ in range(4):
        assert crawl.after(s=3600).dispatch() == []
    assert (crawl.run, crawl.plan.next_run) == (1, 0)


def test_a_run_that_takes_longer_than_its_period_is_followed_at_once_by_one_for_all_that_were_missed() -> None:
    crawl = Recurring("a", schedule={"cron": "* * * * *"})
    (request,) = crawl.dispatch()
    crawl.after(s=200).finish(request)
    crawl.end_run()
    assert [(note.run, note.began_ms - NOW_MS, note.began_ms - note.due_ms < 60_000) for note in crawl.plan.runs] == [
        (1, 0, True), (2, 200_000, True),
    ]  # fmt: skip


def test_a_job_that_is_purged_in_the_midst_of_a_renewal_leaves_nothing_behind() -> None:
    crawl = in_the_midst_of_a_renewal()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted="cancelled"), JobPurged(job="j"))
    for _ in range(30):
        assert crawl.after(s=60).dispatch() == []
    assert {name: list(rows) for name, rows in crawl.tables.values.items() if name != "hosts"} == {
        "seen": [], "backlog": [], "ledger": [b"J\0j"],
    }  # fmt: skip


def test_a_job_that_is_cancelled_in_the_midst_of_a_renewal_ends_with_what_had_come() -> None:
    crawl = in_the_midst_of_a_renewal()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted="cancelled"))
    crawl.dispatch()
    assert (crawl.run, crawl.report.renewing, crawl.report.counters.pending) == (2, False, 0)
