"""Recurring jobs: when a run begins, what it takes over from the one before, what it asks for, and what is late."""

from itertools import pairwise
from typing import Any

import pytest

from odradek.contracts import (
    Discovered,
    FetchRequest,
    JobChanged,
    PageVersion,
    Parsed,
    Reached,
    RetryAsked,
    RunDue,
    RunFigures,
    RunNote,
    RunPlan,
)
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.resting import is_due
from odradek_scheduler.core.state import Visit

from .harness import NOW_MS, Crawl, a_job, a_link

HOUR_MS = 3_600_000
HOURLY = {"every": "1h"}
MANY = [f"{number * 40_503 % 65_536:04x}{number:028x}" for number in range(4_100)]


class Recurring(Crawl):
    """A crawl whose run ends as soon as nothing is pending, as the completion of the whole would say it."""

    def __init__(self, *links: str, schedule: dict[str, Any] | None = None, seeds: bool = True, **spec: Any) -> None:
        super().__init__()
        self.fold(a_job(schedule=schedule or HOURLY, **spec), *(a_link(name, seed=seeds) for name in links))

    @property
    def run(self) -> int:
        (report,) = self.core.progress(self.now_ms) or (self.report,)
        self.report = report
        return report.run

    @property
    def plan(self) -> RunPlan:
        assert self.run
        assert self.report.plan is not None
        return self.report.plan

    def end_run(self, epoch: int = 1, **figures: int) -> None:
        run = self.run
        assert not self.report.renewing
        assert self.report.counters.pending == 0
        reached = Reached(
            job="j", state="complete", epoch=epoch, run=run, at_ms=self.now_ms, indexed_at_ms=self.now_ms,
            figures=RunFigures(**figures),
        )  # fmt: skip
        self.core.ended(reached)
        self.dispatch()

    def crawl_all(self, **pages: dict[str, Any]) -> list[str]:
        """Fetch all that is due until nothing is left; returns what was asked for, in order."""
        asked = []
        while requests := self.dispatch():
            for request in requests:
                asked.append(request.fp)
                self.finish(request, **({"version": a_version(request)} | pages.get(request.fp, {})))
        return asked

    def next_run(self, **span: float) -> list[FetchRequest]:
        self.end_run()
        return self.after(**(span or {"s": 3600})).dispatch()


def a_version(request: FetchRequest, digest: str | None = None, rules: str = "") -> PageVersion:
    name = request.fp
    return PageVersion(rules=rules or RULES, digest=digest or f"d-{name}", etag=f'"{name}"', last_modified=f"m-{name}")


def rules_of(**spec: Any) -> str:
    from odradek.specification import reading_rules  # noqa: PLC0415  (only here)

    return reading_rules(a_job(schedule=HOURLY, **spec).spec or {})


RULES = rules_of()


def names(requests: list[FetchRequest]) -> list[str]:
    return [request.fp for request in requests]


# ---- when


def test_the_next_run_begins_when_it_is_due_and_visits_what_the_last_one_knew() -> None:
    crawl = Recurring("a", "b")
    crawl.crawl_all()
    assert crawl.next_run(s=3599) == []
    assert sorted(names(crawl.after(s=1).dispatch())) == ["a", "b"]
    assert (crawl.run, crawl.ledger(run=2).accepted, crawl.ledger(run=1).pending) == (2, 2, 0)


def test_a_run_does_not_begin_while_one_is_under_way() -> None:
    crawl = Recurring("a")
    crawl.dispatch()
    (request,) = crawl.after(s=2 * 3600).dispatch()
    assert (request.run, crawl.run) == (1, 1)
    crawl.finish(request)
    crawl.end_run()
    assert crawl.run == 2


def test_missed_runs_are_one_late_run_that_says_so() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.restart()
    crawl.core.ended(Reached(job="j", state="complete", epoch=1, run=1, at_ms=crawl.now_ms))
    crawl.after(s=5 * 3600 + 1800).crawl_all()
    (event,) = crawl.events
    assert (event.event.action, event.log.level) == ("run", "warning")
    assert event.message.startswith("Run 2 begins, 30 min after it was due at ")
    (_, note) = crawl.plan.runs
    assert (note.run, note.due_ms - NOW_MS, note.began_ms - note.due_ms) == (2, 5 * HOUR_MS, HOUR_MS // 2)
    assert crawl.next_run(s=1799) == []
    assert names(crawl.after(s=1).dispatch()) == ["a"]


def test_a_paused_job_begins_no_run_and_begins_it_late_when_it_goes_on() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted="paused"))
    assert crawl.after(s=3 * 3600).dispatch() == []
    crawl.fold(JobChanged(job="j", version=3, epoch=1))
    assert names(crawl.dispatch()) == ["a"], (crawl.now_ms, crawl.plan, crawl.report, crawl.seen("a", run=4))


@pytest.mark.parametrize("wanted", ["cancelled", "expired"])
def test_a_job_that_is_over_begins_no_run(wanted: Any) -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted=wanted))
    assert crawl.after(s=9 * 3600).dispatch() == []
    assert crawl.run == 1


def test_a_run_that_begins_where_its_job_was_cancelled_before_ends_at_once() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted="cancelled"))
    crawl.fold(RunDue(job="j", run=2))
    assert crawl.dispatch() == []
    assert (crawl.run, crawl.ledger(run=2).closed_by, crawl.report.renewing) == (2, "cancelled", False)


def test_seeds_that_opened_the_run_again_end_before_the_next_one_begins() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.fold(JobChanged(job="j", version=2, epoch=2), a_link("b", seed=True))
    (request,) = crawl.after(s=3600).dispatch()
    assert (request.fp, request.run) == ("b", 1)
    crawl.finish(request)
    crawl.end_run(epoch=2)
    assert crawl.run == 2


def test_what_became_of_runs_and_when_the_next_one_is_can_be_read_also_after_a_take_over() -> None:
    crawl = Recurring("a")
    crawl.after(s=60).crawl_all()
    crawl.end_run(fetched=1, pages=1)
    crawl.restart()
    crawl.dispatch()
    crawl.core.ended(Reached(job="j", state="complete", epoch=1, run=1, at_ms=NOW_MS))
    crawl.dispatch()
    plan = crawl.plan
    assert (plan.next_run, plan.next_at_ms) == (2, NOW_MS + HOUR_MS)
    (note,) = plan.runs
    assert (note.run, note.began_ms, note.ended_ms, note.state) == (1, NOW_MS, NOW_MS + 60_000, "complete")
    assert note.figures == RunFigures(fetched=1, pages=1)


def test_a_run_under_way_is_among_the_runs_and_so_is_the_first_one() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    assert crawl.plan.runs == (RunNote(run=1, due_ms=NOW_MS, began_ms=NOW_MS),)
    crawl.next_run()
    assert [(note.run, note.ended_ms > 0) for note in crawl.plan.runs] == [(1, True), (2, False)]


def test_after_a_take_over_the_run_under_way_is_told_once_more_and_begins_once() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.next_run()
    crawl.restart()
    sent = crawl.core.dispatch(crawl.now_ms, 10)
    told = [fact for _, fact in sent.facts if isinstance(fact, RunDue)]
    assert [(fact.run, fact.at_ms) for fact in told] == [(2, NOW_MS + HOUR_MS)]
    before = crawl.ledger(run=2).accepted
    crawl.fold(*told)
    crawl.dispatch()
    assert (crawl.ledger(run=2).accepted, crawl.run) == (before, 2)


def test_a_run_that_a_person_asks_for_begins_at_once_and_the_next_one_counts_from_it() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.end_run()
    crawl.fold(JobChanged(job="j", version=2, epoch=1, asked_run=2))
    crawl.after(s=600).crawl_all()
    assert crawl.run == 2
    crawl.end_run()
    assert crawl.plan.next_at_ms == NOW_MS + 600_000 + HOUR_MS
    assert crawl.after(s=3000).dispatch() == []


# ---- what is taken over


def test_everything_known_is_taken_over_however_it_was_found() -> None:
    crawl = Recurring("a")
    crawl.fold(a_link("b", depth=1, via="https://a.example/a", site="a.example", meta={"k": 1}))
    crawl.crawl_all()
    requests = {request.fp: request for request in crawl.next_run()}
    found = requests["b"]
    assert (found.depth, found.via, found.site, found.meta, found.seed) == (
        1, "https://a.example/a", "a.example", {"k": 1}, False,
    )  # fmt: skip
    assert requests["a"].seed


def test_failed_and_skipped_urls_come_again_and_before_the_others() -> None:
    one_at_a_time = {"politeness": {"concurrency_per_host": 1}}
    crawl = Recurring("a", "b", "c", **one_at_a_time)
    crawl.crawl_all(c={"outcome": "failed", "reason": "http_500", "kept": False}, a={}, b={})
    crawl.end_run()
    crawl.after(s=3600)
    assert crawl.crawl_all()[0] == "c"


@pytest.mark.parametrize(("budget", "runs"), [(1, 8), (2, 4), (3, 4), (4, 2), (5, 3)])
def test_with_a_budget_that_is_less_than_the_site_no_page_is_left_out_for_ever(budget: int, runs: int) -> None:
    """Within a run they come in no order, so where the last of a round share a run with the next, it takes one more."""
    pages = "abcdefgh"
    crawl = Recurring(*pages, scope={"max_pages": budget}, politeness={"concurrency_per_host": 1})
    visited: list[set[str]] = []
    for _ in range(3 * runs):
        visited.append({fp for _ in range(2 * budget) for fp in crawl.after(s=1).crawl_all()})
        crawl.end_run()
        crawl.after(s=3600)
    assert {"".join(sorted(set().union(*visited[at : at + runs]))) for at in range(2 * runs)} == {pages}


def test_traps_are_not_taken_over() -> None:
    crawl = Recurring("a", "b")
    crawl.crawl_all(b={"outcome": "skipped", "reason": "trap"})
    assert names(crawl.next_run()) == ["a"]
    assert crawl.ledger(run=2).accepted == 1


def test_thousands_of_urls_are_taken_over_in_steps_between_which_other_facts_come() -> None:
    crawl = Recurring()
    fps = [f"{number * 40_503 % 65_536:04x}{number:028x}" for number in range(5_000)]
    for start in range(0, 5_000, 1_000):
        crawl.fold(*(a_link(fp) for fp in fps[start : start + 1_000]))
    for start in range(0, 5_000, 500):
        crawl.fold(*(Parsed(job="j", fp=fp, key="a.example", outcome="fetched", kept=True)
                     for fp in fps[start : start + 500]))  # fmt: skip
    crawl.end_run()
    crawl.after(s=3600)
    sizes = []
    while crawl.run == 1 or crawl.report.renewing:
        sent = crawl.core.dispatch(crawl.now_ms, 0)
        before = crawl.ledger(run=2).accepted
        crawl.fold(*(fact for _, fact in sent.facts))
        sizes.append(crawl.ledger(run=2).accepted - before)
    assert (sum(sizes), crawl.ledger(run=2).pending) == (5_000, 5_000)
    assert max(sizes) < 2_100
    counted = crawl.core.recount("j")
    assert counted is not None
    assert (counted.accepted, counted.pending) == (5_000, 5_000)


def in_the_midst_of_a_renewal() -> Recurring:
    """The second run has taken over some of what the first one knew."""
    crawl = Recurring()
    crawl.fold(*(a_link(fp) for fp in MANY))
    crawl.fold(*(Parsed(job="j", fp=fp, key="a.example", outcome="fetched", kept=True) for fp in MANY))
    crawl.end_run()
    crawl.after(s=3600)
    for _ in range(2):
        sent = crawl.core.dispatch(crawl.now_ms, 0)
        crawl.fold(*(fact for _, fact in sent.facts))
    assert 0 < crawl.ledger(run=2).accepted < len(MANY)
    return crawl


def test_a_take_over_in_the_midst_goes_on_with_the_next_step() -> None:
    crawl = in_the_midst_of_a_renewal()
    crawl.restart()
    crawl.dispatch(0)
    assert crawl.ledger(run=2).accepted == len(MANY)


def test_rows_of_the_run_before_the_last_end() -> None:
    crawl = Recurring("a", "b")
    for _ in range(3):
        crawl.crawl_all()
        crawl.end_run()
        crawl.after(s=3600).dispatch(0)
    rows = sorted(key.decode().replace("\0", "/") for key in crawl.tables.values["seen"])
    assert rows == ["j/3/a", "j/3/b", "j/4/a", "j/4/b"]


def test_values_of_hosts_end_with_the_run_before_the_last() -> None:
    crawl = Recurring("a", "b", schedule={"fresh_by": "08:00"}, scope={"max_pages_per_host": 9})
    for _ in range(4):
        for _ in range(3):
            crawl.after(s=1).crawl_all()
        crawl.end_run()
        crawl.after(s=86_400).dispatch(0)
    runs = {
        (key[:1].decode(), key.split(b"\0")[2].decode()) for key in crawl.tables.values["ledger"] if key[:1] in b"KW"
    }
    assert runs == {("K", "4"), ("W", "4"), ("W", "5")}


def test_a_url_that_a_link_has_found_in_a_run_that_had_not_begun_here_is_accepted_once() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.fold(a_link("a", run=2), a_link("b", run=2))
    assert sorted(names(crawl.next_run())) == ["a", "b"]
    assert crawl.ledger(run=2).accepted == 2
    assert crawl.seen("a", run=2).visit == crawl.seen("a", run=1).visit


def test_a_new_run_has_the_whole_budget_and_leaves_no_pages_of_the_old_behind() -> None:
    crawl = Recurring(*"abcdef", scope={"max_pages": 2})
    for _ in range(4):
        crawl.after(s=1).crawl_all()
    assert (crawl.ledger().kept, crawl.ledger().closed_by) == (2, "budget_pages")
    crawl.end_run()
    crawl.after(s=3600)
    for _ in range(4):
        crawl.after(s=1).crawl_all()
    assert (crawl.ledger(run=2).kept, crawl.ledger(run=2).accepted, crawl.ledger(run=2).skipped) == (2, 6, 4)
    for _ in range(4):
        crawl.after(s=10).dispatch()
    assert not [key for key in crawl.tables.values["backlog"] if key.startswith(b"j\0001\0")]


# ---- what is asked for


def test_a_request_carries_what_the_page_was_when_it_was_read_last() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    (request,) = crawl.next_run()
    assert (request.etag, request.last_modified, request.digest) == ('"a"', "m-a", "d-a")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schedule": {"every": "1h", "conditional": False}}, "not wanted"),
        ({"schedule": HOURLY, "extract": []}, "read by other rules"),
        ({"schedule": HOURLY, "scope": {"exclude": ["x"]}}, "links are judged by other rules"),
    ],
)
def test_a_page_is_asked_for_whole(change: dict[str, Any], why: str) -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.fold(a_job(version=2, **change))
    (request,) = crawl.next_run()
    assert (request.etag, request.last_modified, request.digest) == (None, None, None), why


def test_a_page_that_has_not_changed_counts_as_kept_and_stays_known() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    for run in (2, 3):
        (request,) = crawl.next_run()
        assert (request.run, request.digest) == (run, "d-a")
        crawl.finish(request, outcome="not_modified", status=304, kept=True)
    assert (crawl.ledger(run=3).not_modified, crawl.ledger(run=3).kept) == (1, 1)


def test_a_page_that_failed_keeps_what_it_was() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    (request,) = crawl.next_run()
    crawl.finish(request, outcome="failed", reason="http_404", status=404)
    (request,) = crawl.next_run()
    assert request.digest == "d-a"


# ---- what is late, and what concerns the run of now


def test_what_a_page_of_an_older_run_brings_is_late_and_changes_nothing() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.next_run()
    before = crawl.ledger(run=2)
    crawl.fold(
        Parsed(job="j", fp="a", key="a.example", outcome="failed", reason="http_404", run=1),
        a_link("new", run=1), a_link("moved", run=1, seed=True, via="https://a.example/a"), a_link("map", run=-1),
    )  # fmt: skip
    after = crawl.ledger(run=2)
    assert (after.accepted, after.pending, after.late, after.links_found) == (
        before.accepted, before.pending, before.late, before.links_found,
    )  # fmt: skip
    assert crawl.ledger(run=1).late == 1
    assert crawl.ledger(run=1).reasons["refused"] == {"late": 2}


def test_a_seed_told_for_the_run_before_is_one_of_now() -> None:
    crawl = Recurring("a")
    crawl.crawl_all()
    crawl.next_run()
    crawl.fold(Discovered(job="j", url="https://a.example/s", fp="s", key="a.example", seed=True))
    assert [(request.fp, request.run) for request in crawl.dispatch()] == [("s", 2)]


def test_retry_and_cancel_told_for_the_run_before_concern_the_one_of_now() -> None:
    crawl = Recurring("a", "b")
    crawl.crawl_all()
    first, second = crawl.next_run()
    crawl.finish(first, outcome="failed", reason="http_404")
    crawl.fold(RetryAsked(job="j", epoch=2))
    assert [(request.fp, request.run, request.attempt) for request in crawl.dispatch()] == [(first.fp, 2, 1)]
    crawl.fold(JobChanged(job="j", version=2, epoch=2, wanted="cancelled"))
    ledger = crawl.ledger(run=2)
    assert (ledger.closed_by, ledger.pending, ledger.skipped) == ("cancelled", 0, 2)
    assert second.run == 2


# ---- adaptive


ADAPTIVE = {"every": "1h", "adaptive": "30d"}


@pytest.mark.parametrize("takes_s", [0, 3000])
def test_pages_that_stay_the_same_rest_for_longer_and_longer_and_changes_bring_them_back(takes_s: int) -> None:
    """However long it takes a run until their turn comes."""
    crawl = Recurring("still", "lively", schedule=ADAPTIVE, seeds=False)
    crawl.after(s=takes_s).crawl_all()
    visited: dict[str, list[int]] = {"still": [], "lively": []}
    for run in range(2, 22):
        crawl.end_run()
        requests = crawl.after(s=3600 - takes_s).dispatch()
        crawl.after(s=takes_s)
        for request in requests:
            visited[request.fp].append(run)
            if request.fp == "still":
                crawl.finish(request, outcome="not_modified", status=304, kept=True)
            else:
                crawl.finish(request, version=a_version(request, digest=f"d-{run}"))
    assert visited["lively"] == list(range(2, 22))
    assert visited["still"] == [2, 3, 5, 8, 13, 21]
    assert crawl.ledger(run=20).reasons["skipped"] == {"not_due": 1}


@pytest.mark.parametrize("known", [True, False])
def test_a_page_that_is_gone_is_asked_for_once_more_and_then_rests_until_it_is_back(known: bool) -> None:  # noqa: FBT001  (a row)
    gone = {"outcome": "failed", "reason": "http_404", "status": 404, "kept": False}
    crawl = Recurring("there", "a", schedule=ADAPTIVE, seeds=False)
    crawl.crawl_all(**({} if known else {"a": gone}))
    visited = []
    for run in range(2, 17):
        crawl.end_run()
        for request in crawl.after(s=3600).dispatch():
            if request.fp == "a":
                visited.append(run)
                crawl.finish(request, **gone if run < 14 else {"version": a_version(request)})
            else:
                crawl.finish(request, version=a_version(request, digest=f"d-{run}"))
    assert visited == [2, 3, 4, 6, 9, 14, 15, 16]


def test_a_page_rests_no_longer_than_the_job_allows() -> None:
    crawl = Recurring("a", schedule={"every": "1h", "adaptive": "3h"}, seeds=False)
    crawl.crawl_all()
    visited = []
    for run in range(2, 16):
        crawl.end_run()
        for request in crawl.after(s=3600).dispatch():
            visited.append(run)
            crawl.finish(request, outcome="not_modified", status=304, kept=True)
    assert max(later - run for run, later in pairwise(visited)) == 3


def test_a_page_visited_by_a_clock_that_was_years_ahead_does_not_rest_for_years() -> None:
    year_ms = 365 * 24 * HOUR_MS
    visit = Visit(RULES, at_ms=NOW_MS + year_ms, changed_ms=NOW_MS, calm=3)
    job = Job(created_at_ms=NOW_MS, begun=[(9, 20, visit.at_ms)])
    assert is_due(job, visit, (NOW_MS, HOUR_MS), 30 * 24 * HOUR_MS)
    assert not is_due(job, visit, (visit.at_ms + HOUR_MS, HOUR_MS), 30 * 24 * HOUR_MS)


def test_a_seed_is_visited_in_every_run_since_it_leads_to_what_is_new() -> None:
    crawl = Recurring("a", schedule=ADAPTIVE)
    crawl.crawl_all()
    for _ in range(5):
        (request,) = crawl.next_run()
        crawl.finish(request, outcome="not_modified", status=304, kept=True)


@pytest.mark.parametrize(
    ("lastmod", "expected"),
    [("2024-01-01", ["a"]), ("2023-11-15T01:00:00Z", ["a"]), ("2023-11-15", ["a"]), ("2023-11-14", []), ("soon", [])],
)
def test_a_page_that_rests_is_visited_if_its_sitemap_says_that_it_has_changed(
    lastmod: str, expected: list[str]
) -> None:
    crawl = Recurring("a", schedule=ADAPTIVE, seeds=False)
    crawl.crawl_all()
    for _ in range(2):
        (request,) = crawl.next_run()
        crawl.finish(request, outcome="not_modified", status=304, kept=True)
    assert crawl.next_run() == []
    assert crawl.ledger(run=4).reasons["skipped"] == {"not_due": 1}
    crawl.fold(a_link("a", run=4, lastmod=lastmod))
    assert names(crawl.dispatch()) == expected
    assert (crawl.ledger(run=4).pending, crawl.ledger(run=4).accepted) == (len(expected), 1)


# ---- deadlines: the clock stands at 22:13:20 UTC

BY_EIGHT = {"fresh_by": "08:00"}
EIGHT_MS = 1_700_035_200_000
SLOW = {"delay": "30s", "concurrency_per_host": 1}


def a_daily(pages: int, **politeness: Any) -> Recurring:
    """A job with a deadline; its first run, which has none, has ended."""
    crawl = Recurring(*(f"p{number}" for number in range(pages)), schedule=BY_EIGHT, politeness=SLOW | politeness)
    run_on(crawl, crawl.now_ms + 9 * HOUR_MS)
    crawl.end_run()
    return crawl


def run_on(crawl: Recurring, until_ms: int) -> None:
    """Let the run go on, politely, until then or until nothing is pending."""
    while crawl.now_ms < until_ms and crawl.ledger(run=crawl.run).pending:
        for request in crawl.dispatch():
            crawl.finish(request, version=a_version(request))
        crawl.dispatch(0)
        crawl.after(s=30)


def test_a_run_with_a_deadline_begins_as_early_as_the_last_one_took_and_ends_in_time() -> None:
    crawl = a_daily(120)
    took_ms = crawl.plan.runs[0].ended_ms - crawl.plan.runs[0].began_ms
    assert took_ms == pytest.approx(HOUR_MS, rel=0.01)
    assert (crawl.plan.deadline_ms, EIGHT_MS - crawl.plan.next_at_ms) == (
        EIGHT_MS,
        pytest.approx(1.1 * took_ms, rel=0.01),
    )
    crawl.now_ms = crawl.plan.next_at_ms
    crawl.dispatch()
    run_on(crawl, EIGHT_MS)
    crawl.end_run()
    assert crawl.plan.runs[-1].run == 2
    assert 0 < EIGHT_MS - crawl.plan.runs[-1].ended_ms < HOUR_MS
    assert [event for event in crawl.events if event.event.action == "late"] == []


def test_a_deadline_that_will_be_missed_is_announced_when_it_can_be_known_with_why_and_what_would_help() -> None:
    crawl = a_daily(120)
    crawl.fold(JobChanged(job="j", version=2, epoch=1, wanted="paused"))
    crawl.now_ms = EIGHT_MS - HOUR_MS // 2
    crawl.dispatch()
    crawl.fold(JobChanged(job="j", version=3, epoch=1))
    crawl.dispatch()
    run_on(crawl, EIGHT_MS - HOUR_MS // 3)

    (event,) = [event for event in crawl.events if event.event.action == "late"]
    assert event.timestamp < "2023-11-15T07:31"
    assert (event.odradek.run, event.log.level) == (2, "warning")
    assert event.message.startswith("It will end at about 2023-11-15T08:")
    assert "30 min after its deadline: a.example has 120 URLs" in event.message
    assert "one every 30 s (delay 30 s, 1 at a time)" in event.message
    assert event.message.endswith(
        "politeness.concurrency_per_host: 2 or politeness.delay: 15s would do, if the site allows it; "
        "so would at most 60 pages."
    )
    assert crawl.plan.missed is not None


def test_a_run_that_falls_behind_says_so_while_it_runs() -> None:
    crawl = a_daily(120)
    crawl.now_ms = crawl.plan.next_at_ms
    crawl.dispatch()
    run_on(crawl, crawl.now_ms + HOUR_MS // 6)
    assert crawl.plan.missed is None
    crawl.fold(a_job(version=2, schedule=BY_EIGHT, politeness=SLOW | {"delay": "60s"}))
    run_on(crawl, crawl.now_ms + HOUR_MS // 6)
    (event,) = [event for event in crawl.events if event.event.action == "late"]
    assert "left, one every 60 s" in event.message
    assert event.timestamp < "2023-11-15T07:20"
    run_on(crawl, EIGHT_MS + 2 * HOUR_MS)
    crawl.end_run()
    assert crawl.plan.runs[-1].ended_ms > EIGHT_MS
