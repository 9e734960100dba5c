"""A recurring job on the stage: two runs behind it, one under way that will miss its deadline, or still to come."""

from odradek.contracts import Counters, HostLoad, JobRecord, Progress, RunFigures, RunNote, RunPlan, timestamp
from odradek.stores import Document

DAILY = "prices-7c1d20aa"
HOUR_MS = 3_600_000
MISSED = "slow.example has 3,600 URLs left, one every 1.2 s (delay 1 s, 1 at a time)."


def recurring(now_ms: int, ledger: Counters, *, under_way: bool) -> tuple[JobRecord, Progress]:
    """Its record, and what its only busy partition reports."""
    runs = tuple(
        RunNote(
            run=number, due_ms=now_ms - ago_h * HOUR_MS - late_ms, began_ms=now_ms - ago_h * HOUR_MS,
            deadline_ms=now_ms - (ago_h - 2) * HOUR_MS, ended_ms=ended_ms and now_ms - ended_ms, state=state,
            figures=RunFigures(accepted=50_000, fetched=fetched, not_modified=49_000 - fetched, skipped=900, failed=100,
                               pages=49_000, items=fetched),
        )
        for number, ago_h, late_ms, ended_ms, state, fetched in (
            (6, 49, 0, 48 * HOUR_MS, "complete", 2_114), (7, 25, 5 * 60_000, 22 * HOUR_MS, "complete", 1_960),
            (8, 1, 0, 0, None, 0),
        )
    )  # fmt: skip
    load = HostLoad(key="slow.example", urls=9_000, open=3_600, gap_ms=1_200, delay_ms=1_000)
    plan = RunPlan(deadline_ms=now_ms + HOUR_MS, expected_ms=now_ms + 2 * HOUR_MS, missed=MISSED, hosts=(load,),
                   runs=runs)  # fmt: skip
    if not under_way:
        plan = RunPlan(next_run=8, next_at_ms=now_ms + HOUR_MS, deadline_ms=now_ms + 3 * HOUR_MS, runs=runs[:-1])
    spec = {"name": "prices", "seeds": [{"url": "https://slow.example/"}], "schedule": {"fresh_by": "08:00"}}
    created_ms = now_ms - 50 * HOUR_MS
    record = JobRecord(job=DAILY, spec=spec, seeded=True, created_at_ms=created_ms, changed_at_ms=now_ms)
    run = 8 if under_way else 7
    return record, Progress(job=DAILY, partition=0, offset=1, epoch=1, run=run, counters=ledger, plan=plan)


def freshness(now_ms: int, within_s: float) -> Document:
    """Of its items: an hour old, and some of a host that were not seen for two days."""
    old, young = timestamp(now_ms - 49 * HOUR_MS), timestamp(now_ms - HOUR_MS)
    stale = 0 if within_s > 49 * 3600 else 40
    slow = {"host": "slow.example", "items": 100, "fresh": 100 - stale, "share": (100 - stale) / 100}
    return {
        "within_s": within_s, "items": 1_000, "fresh": 1_000 - stale, "share": (1_000 - stale) / 1_000,
        "oldest_age_s": 49 * 3600,
        "oldest": [{"id": f"{DAILY}:1", "url": "https://slow.example/p/1", "last_seen": old}],
        "hosts": [
            {**slow, "oldest_seen": old},
            {"host": "quick.example", "items": 900, "fresh": 900, "share": 1.0, "oldest_seen": young},
        ],
    }  # fmt: skip
