"""What a batch changes: the laws of design §3 A to D and H."""

import pytest

from odradek.contracts import (
    Batch,
    Fact,
    Fetched,
    Grant,
    HostChanged,
    JobChanged,
    JobPurged,
    Links,
    LoadsReported,
    Merged,
    Parsed,
    PatternReleased,
    PermitsReported,
    Renewed,
    Reserve,
    RetryAsked,
    RobotsFetched,
    RunDue,
    RunEnded,
    SitemapsListed,
    SkipRest,
    Ticked,
)
from odradek_scheduler.core.keys import page_key, run_id, seen_key, split_page_key
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.tables import value_offset

from .harness import NOW_MS, Crawl, MemoryTables, a_job, a_link


def an_outcome(fp: str, outcome: str = "fetched", attempt: int = 0, **more: object) -> Parsed:
    return Parsed(job="j", fp=fp, key="a.example", outcome=outcome, attempt=attempt, at_ms=NOW_MS, **more)  # type: ignore[arg-type]  # a builder


def test_a_link_is_accepted_once() -> None:
    crawl = Crawl()
    crawl.fold(a_link("x"), a_link("y"), a_link("x"))
    crawl.fold(a_link("y"))
    ledger = crawl.ledger()
    assert (ledger.links_found, ledger.accepted, ledger.duplicates, ledger.pending) == (4, 2, 2, 2)
    assert crawl.pages() == [("a.example", 50, 0)]


def test_a_batch_folded_again_writes_the_same_again_and_counts_nothing_twice() -> None:
    crawl = Crawl(release=False)
    crawl.fold(a_job())
    first = crawl.fold(a_link("x"), an_outcome("x", "failed", reason="dns"), a_link("y"))
    crawl.offset -= 1
    again = crawl.fold(a_link("x"), an_outcome("x", "failed", reason="dns"), a_link("y"))
    assert first == again


def test_a_replayed_batch_is_judged_by_what_stood_before_it() -> None:
    """The tables may be ahead: the outcome at offset 2 does not make the retry at offset 1 late."""
    crawl = Crawl(release=False)
    crawl.fold(a_link("x"))
    crawl.fold(an_outcome("x", "failed", reason="dns", retry_in_ms=1000))
    crawl.fold(an_outcome("x", attempt=1))
    crawl.offset = 1
    crawl.fold(an_outcome("x", "failed", reason="dns", retry_in_ms=1000))
    assert crawl.kinds("x") == ["accepted", "retry", "fetched"]


def test_a_page_whose_urls_have_ended_is_a_tombstone_when_its_batch_is_folded_again() -> None:
    crawl = Crawl(release=False)
    crawl.fold(a_link("x"))
    crawl.fold(an_outcome("x"))
    crawl.offset = 0
    writes = crawl.fold(a_link("x"))
    assert [(write.value, write.offset) for write in writes if write.table == "backlog"] == [(None, 0)]


def test_every_value_begins_with_the_offset_that_its_write_carries() -> None:
    crawl = Crawl()
    facts: tuple[Fact, ...] = (
        a_job(scope={"max_pages": 5}), a_link("x"), an_outcome("x"), Fetched(job="j", fp="x", key="a.example"),
        RobotsFetched(key="a.example", origin="https://a.example", status=200, text=""),
    )  # fmt: skip
    crawl.fold()
    writes = [write for write in crawl.fold(*facts) if write.value is not None]
    assert [write.offset for write in writes] == [value_offset(write.table, write.value or b"") for write in writes]
    assert {write.table for write in writes} == {"seen", "hosts", "ledger"}


@pytest.mark.parametrize(
    ("outcome", "kept", "counter"),
    [
        ("fetched", True, "fetched"),
        ("not_modified", False, "not_modified"),
        ("redirected", False, "redirected"),
        ("skipped", False, "skipped"),
        ("failed", False, "failed"),
    ],
)
def test_an_outcome_ends_a_url(outcome: str, kept: bool, counter: str) -> None:  # noqa: FBT001  (a column of the table)
    crawl = Crawl()
    crawl.fold(a_link("x"), an_outcome("x", outcome, kept=kept, reason="dns" if outcome == "failed" else None))
    ledger = crawl.ledger()
    assert (ledger.pending, getattr(ledger, counter), ledger.kept) == (0, 1, int(kept))


def test_the_first_outcome_wins_and_what_comes_later_is_late() -> None:
    crawl = Crawl()
    crawl.fold(a_link("x"), an_outcome("x"), an_outcome("x", "failed", reason="dns"))
    ledger = crawl.ledger()
    assert (ledger.fetched, ledger.failed, ledger.late) == (1, 0, 1)
    assert crawl.kinds("x") == ["accepted", "fetched"]


def test_a_failure_of_an_older_try_is_late_and_a_success_of_an_older_try_counts() -> None:
    crawl = Crawl()
    crawl.fold(a_link("x"), an_outcome("x", "failed", reason="reset", retry_in_ms=1000))
    crawl.fold(an_outcome("x", "failed", reason="reset"), an_outcome("x"))
    ledger = crawl.ledger()
    assert (ledger.retries, ledger.late, ledger.fetched, ledger.pending) == (1, 1, 1, 0)


def test_links_that_the_parser_dropped_are_counted_once_with_the_outcome() -> None:
    crawl = Crawl()
    links = Links(found=5, duplicates=2, refused={"scope": 3})
    crawl.fold(a_link("x"), an_outcome("x", links=links), an_outcome("x", links=links))
    ledger = crawl.ledger()
    assert (ledger.links_found, ledger.accepted, ledger.duplicates, ledger.refused) == (6, 1, 2, 3)
    assert ledger.reasons["refused"] == {"scope": 3}


def test_cancel_skips_all_that_is_open_at_once_and_refuses_what_comes() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), a_link("x"), a_link("y"), an_outcome("y"))
    crawl.fold(a_job(version=2, wanted="cancelled"))
    crawl.fold(a_link("z"), an_outcome("x"))
    ledger = crawl.ledger()
    assert (ledger.skipped, ledger.pending, ledger.refused, ledger.late, ledger.fetched) == (1, 0, 1, 1, 1)
    assert ledger.reasons == {"skipped": {"cancelled": 1}, "refused": {"late": 1}}


def test_retry_failed_opens_the_failures_of_one_reason_with_the_next_try() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), *(a_link(name) for name in "xyz"))
    crawl.fold(an_outcome("x", "failed", reason="dns"), an_outcome("y", "failed", reason="tls"), an_outcome("z"))
    crawl.fold(RetryAsked(job="j", epoch=2, reason="dns"))
    ledger = crawl.ledger()
    assert (ledger.failed, ledger.pending, ledger.reasons["failed"]) == (1, 1, {"tls": 1})
    assert [(request.fp, request.attempt) for request in crawl.dispatch()] == [("x", 1)]


def test_retry_failed_in_ranges_opens_each_failure_once() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), *(a_link(name) for name in ("1a", "7f", "80", "f0")))
    crawl.fold(*(an_outcome(name, "failed", reason="dns") for name in ("1a", "7f", "80", "f0")))
    crawl.fold(RetryAsked(job="j", epoch=2, end="80"))
    assert [crawl.kinds(name)[-1] for name in ("1a", "7f", "80", "f0")] == ["reopened", "reopened", "failed", "failed"]
    crawl.fold(RetryAsked(job="j", epoch=2, first="80"))
    assert [crawl.kinds(name)[-1] for name in ("1a", "7f", "80", "f0")] == ["reopened"] * 4
    assert (crawl.ledger().failed, crawl.ledger().pending) == (0, 4)


def test_a_merge_writes_the_target_before_it_ends_the_sources() -> None:
    crawl = Crawl()
    crawl.fold(a_link("x"))
    crawl.fold(a_link("y"))
    writes = crawl.fold(Merged(job="j", key="a.example", sources=(0, 1)))
    pages = [(split_page_key(write.key)[3], write.value) for write in writes if write.table == "backlog"]
    assert pages == [(2, b'[2,["x","y"]]'), (0, None), (1, None)]


def test_a_merge_folded_again_extends_its_target() -> None:
    crawl = Crawl(release=False)
    crawl.fold(a_link("x"))
    crawl.fold(a_link("y"))
    merge = Merged(job="j", key="a.example", sources=(0, 1))
    crawl.fold(merge)
    crawl.offset = 2
    crawl.fold(merge)
    assert crawl.tables.values["backlog"] == {page_key(run_id("j", 1), "a.example", 50, 2): b'[2,["x","y"]]'}


def test_a_run_that_is_due_ends_the_run_before_and_accepts_the_same_urls_again() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), a_link("x"), a_link("y"), an_outcome("x"))
    crawl.fold(RunDue(job="j", run=2))
    crawl.fold(a_link("x", run=2))
    first, second = crawl.ledger(run=1), crawl.ledger(run=2)
    assert (first.skipped, first.pending, first.closed_by) == (1, 0, "expired")
    assert (second.accepted, second.pending) == (1, 1)
    assert sorted((request.fp, request.run) for request in crawl.dispatch()) == [("x", 2), ("y", 2)]


def test_an_older_version_of_a_job_changes_nothing() -> None:
    crawl = Crawl()
    crawl.fold(a_job(version=3, wanted="paused"))
    crawl.fold(a_job(version=2))
    (report,) = crawl.core.progress(NOW_MS)
    assert (report.version, report.limiting) == (3, "The job is paused.")


def test_a_recount_agrees_with_the_ledger() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), *(a_link(str(number)) for number in range(6)))
    crawl.fold(an_outcome("0"), an_outcome("1", "failed", reason="dns"), an_outcome("2", "skipped", reason="robots"))
    crawl.fold(an_outcome("3", "redirected"))
    counted, ledger = crawl.core.recount("j"), crawl.ledger()
    assert counted is not None
    for name in ("accepted", "pending", "fetched", "not_modified", "redirected", "skipped", "failed"):
        assert getattr(counted, name) == getattr(ledger, name), name


def test_a_recount_of_a_cancelled_job_counts_its_open_urls_as_skipped() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), a_link("x"), a_link("y"), an_outcome("y"))
    crawl.fold(a_job(version=2, wanted="cancelled"))
    counted = crawl.core.recount("j")
    assert counted is not None
    assert (counted.accepted, counted.skipped, counted.fetched, counted.pending) == (2, 1, 1, 0)


def test_every_kind_of_fact_is_folded() -> None:
    facts: tuple[Fact, ...] = (
        a_link("x"), Fetched(job="j", fp="x", key="a.example"), an_outcome("x"),
        RobotsFetched(key="a.example", origin="https://a.example"), JobChanged(job="j", version=1, epoch=1),
        HostChanged(key="a.example"), RetryAsked(job="j", epoch=1), Reserve(job="j", fps=("x",)),
        PermitsReported(job="j", partition=0, offset=0, kept=0, returned=0, wanted=0), Grant(job="j", granted=1),
        SkipRest(job="j"), Merged(job="j", key="a.example", sources=()), RunDue(job="j", run=2), Ticked(at_ms=1),
            PatternReleased(job="j", key="a.example", pattern="a.example/{n}"),
            SitemapsListed(job="j", key="a.example", origin="https://a.example"), RunEnded(job="j", run=1),
            Renewed(job="j", run=2), LoadsReported(job="j", run=2, partition=0, offset=1),
            JobPurged(job="gone"),
    )  # fmt: skip
    assert {type(fact) for fact in facts} == set(Fact.__args__)
    core = Partition(0, 1, MemoryTables(), Limits())
    assert core.fold(Batch(facts=facts), 0)
    assert core.position == 1


def test_writes_are_one_for_each_url_page_host_job_and_pattern() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), *(a_link(str(number)) for number in range(20)))
    facts = [fact for number in range(20) for fact in (Fetched(job="j", fp=str(number), key="a.example"),)]
    writes = crawl.fold(*facts, *(an_outcome(str(number), content="c") for number in range(20)), a_link("new"))
    assert sorted({write.table for write in writes}) == ["backlog", "hosts", "ledger", "seen"]
    assert len(writes) == 20 + 1 + 1 + 1 + 1 + 1


def test_seen_is_keyed_by_job_run_and_fingerprint() -> None:
    assert seen_key(run_id("j", 2), "ff") == b"j\x002\x00ff"
