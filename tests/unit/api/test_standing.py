"""Where a job stands is the sum of what its partitions say, and nothing else."""

import pytest
from msgspec.structs import replace

from odradek.contracts import Counters, JobRecord, JobState, Progress, Reached, Recount
from odradek_api.core.standing import Standing, audit, balanced, is_over, state_of, supersedes, total


def a_record(**changes: object) -> JobRecord:
    return JobRecord(**{"job": "j", "spec": {}, "epoch": 2, "seeded": True, **changes})  # type: ignore[arg-type]


def a_report(partition: int = 0, recount: Recount | None = None, **counters: object) -> Progress:
    return Progress(
        job="j",
        partition=partition,
        offset=9,
        epoch=2,
        counters=Counters(**counters),
        recount=recount,  # type: ignore[arg-type]
    )


def a_recount(**counts: int) -> Recount:
    return Recount(offset=9, **counts)


def test_the_total_adds_numbers_and_reasons() -> None:
    first = Counters(accepted=2, failed=1, reasons={"failed": {"dns": 1}})
    second = Counters(accepted=3, failed=2, reasons={"failed": {"dns": 1, "http_500": 1}})

    found = total([first, second])

    assert (found.accepted, found.failed, found.reasons["failed"]) == (5, 3, {"dns": 2, "http_500": 1})


def test_an_announcement_of_an_older_epoch_is_void() -> None:
    reached = Reached(job="j", state="complete", epoch=1)

    assert state_of(a_record(epoch=2), reached) == "running"


def test_an_announcement_of_this_epoch_is_the_state() -> None:
    assert state_of(a_record(epoch=2), Reached(job="j", state="complete", epoch=2)) == "complete"


def test_a_paused_job_is_paused_and_one_without_seeds_waits() -> None:
    assert state_of(a_record(wanted="paused"), None) == "paused"
    assert state_of(a_record(seeded=False), None) == "waiting"


@pytest.mark.parametrize(
    ("wanted", "recurring", "once"),
    [("running", "complete", "complete"), ("paused", "paused", "complete"), ("cancelled", "cancelled", "complete")],
)
def test_a_recurring_job_between_two_runs_is_what_is_wanted_of_it(wanted: str, recurring: str, once: str) -> None:
    reached = Reached(job="j", state="complete", epoch=2)
    daily = a_record(wanted=wanted, spec={"schedule": {"every": 86_400}})

    assert state_of(daily, reached) == recurring
    assert state_of(a_record(wanted=wanted), reached) == once


def test_a_job_is_over_at_its_end_and_a_recurring_one_only_when_a_person_or_its_time_ends_it() -> None:
    daily = a_record(spec={"schedule": {"every": 86_400}})
    states: tuple[JobState, ...] = ("running", "complete", "failed", "cancelled", "expired")

    assert [state for state in states if is_over(a_record(), state)] == ["complete", "failed", "cancelled", "expired"]
    assert [state for state in states if is_over(daily, state)] == ["cancelled", "expired"]


def test_a_ledger_balances_when_both_equations_hold_and_both_counts_agree() -> None:
    report = a_report(accepted=3, fetched=2, failed=1, links_found=5, duplicates=2,
                      recount=a_recount(accepted=3, fetched=2, failed=1))  # fmt: skip

    assert balanced([report])


def test_a_ledger_without_its_second_count_does_not_balance() -> None:
    assert not balanced([a_report(accepted=1, fetched=1, links_found=1)])


def test_a_second_count_that_differs_by_one_does_not_balance() -> None:
    report = a_report(accepted=3, fetched=3, links_found=3, recount=a_recount(accepted=3, fetched=2, pending=1))

    assert not balanced([report])


def test_a_lost_url_breaks_the_first_equation() -> None:
    report = a_report(accepted=3, fetched=2, links_found=3, recount=a_recount(accepted=3, fetched=2))

    assert not balanced([report])


def test_errors_of_two_partitions_do_not_cancel_out() -> None:
    low = a_report(0, accepted=2, fetched=1, links_found=2, recount=a_recount(accepted=2, fetched=1))
    high = a_report(1, accepted=2, fetched=3, links_found=2, recount=a_recount(accepted=2, fetched=3))

    assert not balanced([low, high])


def test_the_audit_has_the_shape_that_outsiders_rely_on() -> None:
    report = a_report(accepted=1, fetched=1, links_found=2, duplicates=1, recount=a_recount(accepted=1, fetched=1))

    found = audit(Standing(a_record(), (report,), None))

    assert found == {
        "accepted": 1, "pending": 0, "in_flight": 0, "fetched": 1, "not_modified": 0, "redirected": 0, "skipped": 0,
        "failed": 0, "links_found": 2, "duplicates": 1, "refused": 0, "late": 0, "balanced": True,
        "recount": {"accepted": 1, "pending": 0, "fetched": 1, "not_modified": 0, "redirected": 0, "skipped": 0,
                    "failed": 0},
        "reasons": {"skipped": {}, "failed": {}, "refused": {}},
    }  # fmt: skip


def test_what_a_former_owner_says_late_does_not_supersede_what_is_known() -> None:
    older, newer = a_report(pending=5), replace(a_report(pending=3), offset=10)
    first, second = (Reached(job="j", state="complete", epoch=epoch) for epoch in (1, 2))

    assert [supersedes(newer, older), supersedes(older, newer), supersedes(older, older)] == [True, False, True]
    assert [supersedes(second, first), supersedes(first, second)] == [True, False]
