"""Recurring jobs over HTTP: the run under way, what became of the last ones, and what is to be expected."""

from typing import Any

import msgspec
from tests.component.api.fakes import PARTITIONS, World
from tests.component.api.test_jobs import submitted

from odradek.contracts import (
    Counters,
    Discovered,
    HostLoad,
    JobChanged,
    Progress,
    Reached,
    RetryAsked,
    RunFigures,
    RunNote,
    RunPlan,
)
from odradek.urls import partition_of

HOUR_MS = 3_600_000
DAILY = {"schedule": {"fresh_by": "08:00"}}
ENDED = RunNote(
    run=1, due_ms=HOUR_MS, began_ms=HOUR_MS + 5_000, deadline_ms=2 * HOUR_MS, ended_ms=3 * HOUR_MS, state="complete",
    figures=RunFigures(accepted=5, fetched=3, not_modified=2, pages=5),
)  # fmt: skip
UNDER_WAY = RunNote(run=2, due_ms=9 * HOUR_MS, began_ms=9 * HOUR_MS, deadline_ms=10 * HOUR_MS)


def heard(world: World, job: str, run: int, plan: RunPlan | None = None, *, only: int | None = None) -> None:
    """Every partition reports the run, the home partition what it intends too."""
    home = partition_of(job, PARTITIONS)
    for number in range(PARTITIONS) if only is None else (only,):
        world.progress.values[f"{job}:{number}"] = Progress(
            job=job, partition=number, offset=9, epoch=1, run=run, version=9,
            counters=Counters(accepted=2, pending=1, fetched=1), plan=plan if number == home else None,
        )  # fmt: skip


async def asked(world: World, path: str) -> dict[str, Any]:
    async with world.client() as client:
        answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_job_tells_its_run_when_the_next_one_is_and_how_the_last_one_ended() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    plan = RunPlan(next_run=2, next_at_ms=5 * HOUR_MS, deadline_ms=8 * HOUR_MS, expected_ms=7 * HOUR_MS, runs=(ENDED,))
    heard(world, job, 1, plan)

    shown = await asked(world, f"/v1/jobs/{job}")

    assert (shown["run"], shown["next_run_at_ms"], shown["deadline_ms"], shown["expected_end_ms"], shown["missed"]) == (
        1, 5 * HOUR_MS, 8 * HOUR_MS, 7 * HOUR_MS, None,
    )  # fmt: skip
    last = shown["last_run"]
    assert (last["run"], last["late_ms"], last["duration_ms"], last["met"], last["not_modified"]) == (
        1, 5_000, 2 * HOUR_MS - 5_000, False, 2,
    )  # fmt: skip


async def test_runs_are_told_newest_first_with_what_holds_the_one_under_way_back() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    load = HostLoad(key="slow.example", urls=9, open=4, gap_ms=1_500, delay_ms=1_000, concurrency=1)
    plan = RunPlan(deadline_ms=10 * HOUR_MS, expected_ms=11 * HOUR_MS, missed="slow.example is slow.", hosts=(load,),
                   runs=(ENDED, UNDER_WAY))  # fmt: skip
    heard(world, job, 2, plan)

    shown = await asked(world, f"/v1/jobs/{job}/runs")

    assert [(run["run"], run["state"], run["met"]) for run in shown["data"]] == [
        (2, "running", None), (1, "complete", False),
    ]  # fmt: skip
    assert [(run["accepted"], run["fetched"]) for run in shown["data"]] == [(2 * PARTITIONS, PARTITIONS), (5, 3)]
    assert (shown["next_run"], shown["missed"]) == (None, "slow.example is slow.")
    assert shown["slowest_hosts"] == [
        {"host": "slow.example", "urls": 9, "open": 4, "gap_ms": 1_500, "delay_ms": 1_000, "concurrency": 1,
         "left_ms": 6_000}
    ]  # fmt: skip


async def test_a_job_that_does_not_recur_has_no_runs() -> None:
    world = World()
    job = await submitted(world)
    assert (await asked(world, f"/v1/jobs/{job}/runs"))["data"] == []
    shown = await asked(world, f"/v1/jobs/{job}")
    assert (shown["next_run_at_ms"], shown["last_run"]) == (None, None)


async def test_the_run_that_partitions_tell_of_is_the_one_of_now() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    heard(world, job, 1)
    world.progress.values[job] = Reached(job=job, state="complete", epoch=1, run=1)
    assert (await asked(world, f"/v1/jobs/{job}"))["state"] == "complete"
    heard(world, job, 2, only=0)

    shown = await asked(world, f"/v1/jobs/{job}")

    assert (shown["state"], shown["run"], shown["pending"]) == ("running", 2, 1)
    async with world.client() as client:
        await client.post(f"/v1/jobs/{job}/seeds", json=["https://books.example/new"])
        await client.post(f"/v1/jobs/{job}/retry-failed")
        await client.post(f"/v1/jobs/{job}/pause")
    told = [fact for _, fact in world.log.facts()]
    assert [fact.run for fact in told if isinstance(fact, Discovered)] == [1, 2]
    assert {fact.run for fact in told if isinstance(fact, RetryAsked)} == {2}
    assert [fact.run for fact in told if isinstance(fact, JobChanged)][-1] == 2
    assert world.log.records()[-1].run == 2


async def test_freshness_is_asked_for_a_span_of_time() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    assert (await asked(world, f"/v1/jobs/{job}/freshness?within=2h"))["within_s"] == 7_200
    async with world.client() as client:
        answer = await client.get(f"/v1/jobs/{job}/freshness", params={"within": "soon"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "within")


async def test_the_next_run_begins_now_if_a_person_wants_it_and_none_is_under_way() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    heard(world, job, 3)
    async with world.client() as client:
        busy = await client.post(f"/v1/jobs/{job}/runs")
        world.progress.values[job] = Reached(job=job, state="complete", epoch=1, run=3)
        taken = await client.post(f"/v1/jobs/{job}/runs")
        once = await submitted(world)
        never = await client.post(f"/v1/jobs/{once}/runs")
    assert (busy.status_code, taken.status_code, never.status_code) == (409, 202, 409)
    told = [fact for _, fact in world.log.facts(JobChanged)]
    assert [fact.asked_run for fact in told if fact.job == job][-1] == 4  # type: ignore[union-attr]  # by its kind


async def test_a_job_that_has_expired_between_two_runs_says_so() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    heard(world, job, 1)
    world.progress.values[job] = Reached(job=job, state="complete", epoch=1, run=1)
    report = world.progress.values[f"{job}:0"]
    assert isinstance(report, Progress)
    world.progress.values[f"{job}:0"] = msgspec.structs.replace(report, closed="expired")
    assert (await asked(world, f"/v1/jobs/{job}"))["state"] == "expired"


async def test_a_job_that_is_paused_between_two_runs_says_so_and_begins_none() -> None:
    world = World()
    job = await submitted(world, **DAILY)
    heard(world, job, 1)
    world.progress.values[job] = Reached(job=job, state="complete", epoch=1, run=1)
    async with world.client() as client:
        await client.post(f"/v1/jobs/{job}/pause")
        paused = (await client.get(f"/v1/jobs/{job}")).json()["state"]
        refused = await client.post(f"/v1/jobs/{job}/runs")
        await client.post(f"/v1/jobs/{job}/cancel")
        stream = (await client.get(f"/v1/jobs/{job}/events")).text
    assert (paused, refused.status_code) == ("paused", 409)
    assert "is paused; resume it" in refused.json()["detail"]
    assert stream.endswith('event: end\ndata: {"state": "cancelled"}\n\n')
