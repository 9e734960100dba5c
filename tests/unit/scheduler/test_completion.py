"""Completion in four steps, never by idling (design §3 G)."""

from typing import Any

import pytest

from odradek.contracts import Counters, JobRecord, Progress, Reached, RunFigures
from odradek_scheduler.core.completion import Completion, Need

from .harness import NOW_MS

ALL_STEPS = [
    Need("ends", "scheduled"),
    Need("committed", "scheduled", "fetcher"),
    Need("ends", "pages"),
    Need("committed", "pages", "parser"),
    Need("ends", "frontier"),
    Need("ends", "items"),
    Need("committed", "items", "indexer.items"),
    Need("ends", "logs"),
    Need("committed", "logs", "indexer.logs"),
]
ENDS = {0: 10, 1: 10}


def a_record(**more: Any) -> JobRecord:
    return JobRecord(**({"job": "j", "spec": {}, "seeded": True} | more))


def a_report(partition: int, offset: int = 10, **counters: Any) -> Progress:
    fields: dict[str, Any] = {"accepted": 1, "fetched": 1, "kept": 1, "links_found": 1} | counters
    return Progress(
        job="j", partition=partition, offset=offset, epoch=1, counters=Counters(**fields), version=1, at_ms=NOW_MS
    )


def a_completion(record: JobRecord | None = None) -> Completion:
    completion = Completion("j", 2)
    completion.record_changed(record or a_record())
    completion.reported(a_report(0))
    completion.reported(a_report(1))
    return completion


def go_on(completion: Completion, until: Need | None = None) -> list[Need]:
    """Answer every need as if all were done; returns what was asked for."""
    asked: list[Need] = []
    while (need := completion.needs(NOW_MS)) is not None and need != until:
        asked.append(need)
        completion.answered(need, ENDS)
    return asked


def test_the_steps_are_taken_in_order_and_then_it_is_announced_once() -> None:
    completion = a_completion()
    assert go_on(completion) == ALL_STEPS
    reached = Reached(
        job="j", state="complete", epoch=1, started_at_ms=NOW_MS, at_ms=NOW_MS, indexed_at_ms=NOW_MS + 1,
        figures=RunFigures(accepted=2, fetched=2, pages=2),
    )  # fmt: skip
    assert completion.reached(NOW_MS + 1) == reached
    assert (completion.reached(NOW_MS), completion.needs(NOW_MS)) == (None, None)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (a_record(seeding=("s",)), "seeds are on the way"),
        (a_record(seeded=False), "there are no seeds yet"),
        (a_record(run=2), "the next run has begun"),
        (a_record(version=0), "a partition knows a newer record"),
    ],
)
def test_it_does_not_begin(record: JobRecord, why: str) -> None:
    assert a_completion(record).needs(NOW_MS) is None, why


def test_it_does_not_begin_while_a_url_is_pending_or_a_partition_is_silent() -> None:
    completion = a_completion()
    completion.reported(a_report(1, offset=11, accepted=2, pending=1))
    assert completion.needs(NOW_MS) is None
    silent = Completion("j", 2)
    silent.record_changed(a_record())
    silent.reported(a_report(0))
    assert silent.needs(NOW_MS) is None


def test_services_that_are_behind_are_waited_for() -> None:
    completion = a_completion()
    need = Need("committed", "scheduled", "fetcher")
    go_on(completion, until=need)
    completion.answered(need, {0: 10, 1: 9})
    assert completion.needs(NOW_MS) == need
    completion.answered(need, {0: 10, 1: 10})
    assert completion.needs(NOW_MS) == Need("ends", "pages")


def test_an_empty_partition_without_a_committed_offset_is_passed() -> None:
    completion = a_completion()
    completion.answered(Need("ends", "scheduled"), {0: 0, 1: 0})
    assert completion.needs(NOW_MS) == Need("ends", "scheduled")
    completion.answered(Need("ends", "scheduled"), {0: 0, 1: 0})
    completion.answered(Need("committed", "scheduled", "fetcher"), {})
    assert completion.needs(NOW_MS) == Need("ends", "pages")


def test_a_fact_of_the_job_in_between_starts_it_again() -> None:
    completion = a_completion()
    go_on(completion, until=Need("ends", "frontier"))
    completion.reported(a_report(1, offset=12, links_found=2, duplicates=1))
    assert completion.needs(NOW_MS) == Need("ends", "scheduled")


def test_facts_of_other_jobs_in_between_do_not() -> None:
    completion = a_completion()
    go_on(completion, until=Need("ends", "frontier"))
    completion.answered(Need("ends", "frontier"), {0: 10, 1: 15})
    assert completion.needs(NOW_MS) is None
    completion.reported(a_report(1, offset=15))
    assert completion.needs(NOW_MS) == Need("ends", "items")


@pytest.mark.parametrize("change", [{"epoch": 2}, {"seeding": ("more",)}, {"wanted": "cancelled"}])
def test_a_new_epoch_or_wanted_state_starts_it_again(change: dict[str, Any]) -> None:
    completion = a_completion()
    go_on(completion, until=Need("ends", "logs"))
    completion.record_changed(a_record(version=2, **change))
    assert completion.needs(NOW_MS) in (None, Need("ends", "scheduled"))
    assert completion.reached(NOW_MS) is None


def test_seeds_to_a_finished_job_make_it_announce_again() -> None:
    completion = a_completion()
    go_on(completion)
    assert completion.reached(NOW_MS) is not None
    completion.record_changed(a_record(version=2, epoch=2))
    go_on(completion)
    reached = completion.reached(NOW_MS)
    assert reached is not None
    assert reached.epoch == 2


def test_what_a_former_owner_has_announced_is_not_announced_again() -> None:
    completion = a_completion()
    completion.already_reached(Reached(job="j", state="complete", epoch=1))
    assert completion.needs(NOW_MS) is None


@pytest.mark.parametrize(
    ("wanted", "counters", "state"),
    [
        ("running", {"kept": 1, "failed": 1}, "complete"),
        ("running", {"kept": 0, "fetched": 0, "failed": 1}, "failed"),
        ("running", {"kept": 0, "fetched": 0, "skipped": 1}, "complete"),
        ("paused", {"kept": 1}, "complete"),
        ("cancelled", {"kept": 0, "failed": 1}, "cancelled"),
        ("expired", {"kept": 1}, "expired"),
    ],
)
def test_the_state_follows_from_what_was_wanted_and_kept(wanted: Any, counters: dict[str, int], state: str) -> None:
    completion = Completion("j", 2)
    completion.record_changed(a_record(wanted=wanted))
    completion.reported(a_report(0, **counters))
    completion.reported(a_report(1, accepted=0, fetched=0, kept=0, links_found=0))
    go_on(completion)
    reached = completion.reached(NOW_MS)
    assert reached is not None
    assert reached.state == state


def test_a_job_with_an_archive_waits_for_its_last_page_to_be_archived() -> None:
    completion = a_completion(a_record(spec={"archive": {"warc": "pages"}}))
    last = Need("committed", "pages", "indexer.pages")
    steps = go_on(completion, until=last)

    assert steps == [*ALL_STEPS, Need("ends", "pages")]
    assert completion.reached(NOW_MS) is None
    completion.answered(last, ENDS)
    assert completion.reached(NOW_MS) is not None
