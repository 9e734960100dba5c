"""Runs of recurring jobs, as answers show them: from what the home partition reports of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from odradek.contracts import HostLoad, JobRecord, Progress, RunFigures, RunNote, RunPlan
from odradek_api.core.standing import total


def with_run(record: JobRecord, reports: Iterable[Progress]) -> JobRecord:
    """The record with the run that is under way, and whether its time is over: the scheduler's reports tell of both."""
    told = list(reports)
    run = max((report.run for report in told), default=record.run)
    if any(report.closed == "expired" and report.run == run for report in told):
        return msgspec.structs.replace(record, run=max(run, record.run), wanted="expired")
    return msgspec.structs.replace(record, run=run) if run > record.run else record


def plan_of(reports: Iterable[Progress]) -> RunPlan | None:
    """What the home partition intends; None: the job does not recur, or nothing was heard yet."""
    return next((report.plan for report in reports if report.plan is not None), None)


def schedule_shown(plan: RunPlan | None) -> dict[str, Any]:
    """The fields of a job that only recurring jobs have."""
    if plan is None:
        return {"next_run_at_ms": None, "deadline_ms": None, "expected_end_ms": None, "missed": None, "last_run": None}
    ended = [note for note in plan.runs if note.ended_ms]
    return {
        "next_run_at_ms": plan.next_at_ms or None,
        "deadline_ms": plan.deadline_ms or None,
        "expected_end_ms": plan.expected_ms or None,
        "missed": plan.missed,
        "last_run": run_shown(ended[-1]) if ended else None,
    }


def runs_shown(reports: Sequence[Progress]) -> dict[str, Any]:
    """All that is known of a job's runs, newest first; of the one under way what was reported until now."""
    plan = plan_of(reports)
    shown = schedule_shown(plan)
    return {
        "data": [] if plan is None else [run_shown(_as_of_now(note, reports)) for note in reversed(plan.runs)],
        "next_run": (plan.next_run or None) if plan is not None else None,
        **{name: shown[name] for name in ("next_run_at_ms", "deadline_ms", "expected_end_ms", "missed")},
        "slowest_hosts": [] if plan is None else [_load_shown(load) for load in plan.hosts],
    }


def _as_of_now(note: RunNote, reports: Iterable[Progress]) -> RunNote:
    if note.ended_ms:
        return note
    ledger = total(report.counters for report in reports if report.run == note.run)
    names = {name: "kept" if name == "pages" else name for name in RunFigures.__struct_fields__}
    figures = RunFigures(**{name: getattr(ledger, counted) for name, counted in names.items()})
    return msgspec.structs.replace(note, figures=figures)


def run_shown(note: RunNote) -> dict[str, Any]:
    """One run; `met` tells whether it ended before its deadline."""
    ended, deadline = note.ended_ms or None, note.deadline_ms or None
    return {
        "run": note.run,
        "state": note.state or "running",
        "due_at_ms": note.due_ms,
        "began_at_ms": note.began_ms,
        "late_ms": max(0, note.began_ms - note.due_ms),
        "ended_at_ms": ended,
        "duration_ms": None if ended is None else ended - note.began_ms,
        "deadline_ms": deadline,
        "met": None if ended is None or deadline is None else ended <= deadline,
        **msgspec.structs.asdict(note.figures),
    }


def _load_shown(load: HostLoad) -> dict[str, Any]:
    return {
        "host": load.key,
        "urls": load.urls,
        "open": load.open,
        "gap_ms": load.gap_ms,
        "delay_ms": load.delay_ms,
        "concurrency": load.concurrency,
        "left_ms": load.open * load.gap_ms,
    }
