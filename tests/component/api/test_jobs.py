"""Jobs over HTTP: what the gateway answers, and what it says to Kafka in which order."""

import asyncio
from typing import Any

import pytest
from tests.component.api.fakes import PARTITIONS, World, an_item

from odradek.contracts import (
    Batch,
    Counters,
    Discovered,
    JobChanged,
    JobPurged,
    JobRecord,
    Progress,
    Reached,
    RetryAsked,
    decode,
)
from odradek.urls import partition_of

SPEC: dict[str, Any] = {"name": "books", "seeds": ["https://books.example/"]}
SEED_PARTITION = partition_of("books.example", PARTITIONS)


@pytest.fixture
def world() -> World:
    return World()


async def submitted(world: World, **changes: Any) -> str:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json=SPEC | changes)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["job_id"])


async def test_a_submission_is_a_record_then_facts_for_every_partition_then_seeds_then_a_record_that_it_is_done(
    world: World,
) -> None:
    await submitted(world)

    assert world.log.story() == [
        "record seeding", *(f"JobChanged@{partition}" for partition in range(PARTITIONS)),
        f"Discovered@{SEED_PARTITION}", "record",
    ]  # fmt: skip
    begun, done = world.log.records()
    assert (begun.seeded, begun.epoch, done.seeding, done.seeded) == (False, 1, (), True)
    assert done.version == begun.version + 1


async def test_every_partition_learns_the_specification_without_its_seeds(world: World) -> None:
    job = await submitted(world)

    told = [fact for _, fact in world.log.facts(JobChanged)]
    assert [fact.spec for fact in told] == [{"name": "books"}] * PARTITIONS  # type: ignore[union-attr]
    assert {fact.job for fact in told} == {job}  # type: ignore[union-attr]


async def test_the_answer_names_the_job_and_where_it_is(world: World) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json=SPEC)
        shown = await client.get(answer.headers["location"])

    assert answer.json()["state"] == "running"
    assert shown.json() == answer.json()


async def test_a_job_without_seeds_waits(world: World) -> None:
    job = await submitted(world, seeds=[])

    assert world.gateway.standing(job).state == "waiting"
    assert world.log.story() == ["record", *(f"JobChanged@{partition}" for partition in range(PARTITIONS))]


async def test_each_wrong_field_is_named(world: World) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json={"seeds": 5, "scope": {"max_deepth": 1}, "priority": 101})

    document = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert sorted(each["field"] for each in document["errors"]) == ["priority", "scope.max_deepth", "seeds"]
    assert "did you mean max_depth" in next(e["message"] for e in document["errors"] if "deepth" in e["field"])
    assert world.log.sent == []


async def test_a_seed_in_a_private_network_refuses_the_job_by_the_place_of_the_seed(world: World) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json={"seeds": ["https://a.example/", "http://10.0.0.1/"]})

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["seeds.1"]
    assert "private network" in answer.json()["detail"]
    assert world.log.sent == []


async def test_a_private_network_is_open_where_the_settings_say_so() -> None:
    world = World({"ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"})

    await submitted(world, seeds=["http://10.0.0.1/"])

    assert [fact.url for _, fact in world.log.facts(Discovered)] == ["http://10.0.0.1/"]  # type: ignore[union-attr]


@pytest.mark.parametrize("body", [b"{", b"", b'{"seeds": ["\\ud800"]}', b"[" * 5000, b"\xff", b"NaN"])
async def test_what_is_no_json_is_a_problem_not_a_crash(world: World, body: bytes) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", content=body, headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["title"]) == (400, "Not JSON")


async def test_the_same_idempotency_key_gives_the_same_job_and_sends_nothing(world: World) -> None:
    headers = {"Idempotency-Key": "k1"}
    async with world.client() as client:
        first = await client.post("/v1/jobs", json=SPEC, headers=headers)
        sent = len(world.log.sent)
        second = await client.post("/v1/jobs", json=SPEC, headers=headers)
        other = await client.post("/v1/jobs", json=SPEC | {"seeds": ["https://else.example/"]}, headers=headers)

    assert first.json()["job_id"] == second.json()["job_id"]
    assert len(world.log.sent) == sent
    assert (other.status_code, other.json()["title"]) == (422, "Key used twice")


async def test_two_submissions_with_one_key_at_once_make_one_job(world: World) -> None:
    headers = {"Idempotency-Key": "k1"}
    async with world.client() as client:
        answers = await asyncio.gather(*(client.post("/v1/jobs", json=SPEC, headers=headers) for _ in range(5)))

    assert len({answer.json()["job_id"] for answer in answers}) == len(world.gateway.records.all()) == 1


async def test_pause_and_resume_are_a_record_and_a_fact_in_every_partition(world: World) -> None:
    job = await submitted(world)
    world.log.sent.clear()
    async with world.client() as client:
        paused = await client.post(f"/v1/jobs/{job}/pause")
        again = await client.post(f"/v1/jobs/{job}/pause")
        resumed = await client.post(f"/v1/jobs/{job}/resume")

    assert [each.json()["state"] for each in (paused, again, resumed)] == ["paused", "paused", "running"]
    once = ["record", *(f"JobChanged@{partition}" for partition in range(PARTITIONS))]
    assert world.log.story() == once * 2
    assert [fact.wanted for _, fact in world.log.facts(JobChanged)] == ["paused"] * 3 + ["running"] * 3  # type: ignore[union-attr]


async def test_a_cancelled_job_takes_nothing_any_more(world: World) -> None:
    job = await submitted(world)
    async with world.client() as client:
        cancelled = await client.post(f"/v1/jobs/{job}/cancel")
        sent = len(world.log.sent)
        answers = [
            await client.post(f"/v1/jobs/{job}/resume"),
            await client.post(f"/v1/jobs/{job}/retry-failed"),
            await client.patch(f"/v1/jobs/{job}", json={"priority": 1}),
            await client.post(f"/v1/jobs/{job}/seeds", json=["https://books.example/2"]),
            await client.post(f"/v1/jobs/{job}/seeds", content=b"x", headers={"content-type": "text/plain"}),
        ]

    assert cancelled.json()["state"] == "cancelled"
    assert [answer.status_code for answer in answers] == [409] * 5
    assert len(world.log.sent) == sent


async def test_retry_failed_raises_the_epoch_and_asks_every_partition(world: World) -> None:
    job = await submitted(world)
    world.log.sent.clear()
    async with world.client() as client:
        await client.post(f"/v1/jobs/{job}/retry-failed", params={"reason": "dns"})

    asked = world.log.facts(RetryAsked)
    assert [partition for partition, _ in asked] == list(range(PARTITIONS))
    assert {(fact.epoch, fact.reason) for _, fact in asked} == {(2, "dns")}  # type: ignore[union-attr]
    assert world.log.story()[0] == "record seeding"
    assert world.log.story()[-1] == "record"


async def test_a_patch_merges_and_null_takes_a_field_back(world: World) -> None:
    job = await submitted(world, scope={"max_pages": 5, "max_depth": 2}, politeness={"delay": "2s"})
    async with world.client() as client:
        await client.patch(f"/v1/jobs/{job}", json={"scope": {"max_pages": 9, "max_depth": None}})
        spec = (await client.get(f"/v1/jobs/{job}/specification")).json()

    assert (spec["scope"], spec["politeness"]) == ({"max_pages": 9}, {"delay": 2.0})
    newest = world.log.facts(JobChanged)[-1][1]
    assert newest.spec["scope"] == {"max_pages": 9}  # type: ignore[union-attr]


@pytest.mark.parametrize(("limit", "epoch"), [(9, 2), (None, 2), (5, 1), (2, 1)])
async def test_a_higher_limit_opens_the_job_again_and_a_lower_one_does_not(
    world: World, limit: int | None, epoch: int
) -> None:
    job = await submitted(world, scope={"max_pages": 5})
    world.log.sent.clear()
    async with world.client() as client:
        await client.patch(f"/v1/jobs/{job}", json={"scope": {"max_pages": limit}})

    lifted = epoch == 2
    assert [record.epoch for record in world.log.records()] == ([2, 2] if lifted else [1])
    assert [bool(record.seeding) for record in world.log.records()] == ([True, False] if lifted else [False])
    assert {fact.epoch for _, fact in world.log.facts(JobChanged)} == {epoch}  # type: ignore[union-attr]


async def test_a_job_that_the_clock_has_ended_takes_nothing_any_more(world: World) -> None:
    job = await submitted(world, expires="2020-01-01T00:00:00Z")
    async with world.client() as client:
        answers = [
            await client.post(f"/v1/jobs/{job}/seeds", json=["https://books.example/2"]),
            await client.patch(f"/v1/jobs/{job}", json={"expires": None}),
        ]

    assert [answer.status_code for answer in answers] == [409, 409]


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"scope": {"max_pagez": 1}}, "scope.max_pagez"),
        ({"seeds": ["https://b.example/"]}, "seeds"),
        ({"scope": {"sort_query": False}}, "scope.sort_query"),
        ({"fetch": {"method": "POST"}}, "fetch.method"),
    ],
)
async def test_a_patch_names_what_it_cannot_change(world: World, patch: dict[str, Any], field: str) -> None:
    job = await submitted(world)
    async with world.client() as client:
        answer = await client.patch(f"/v1/jobs/{job}", json=patch)

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_secrets_never_leave(world: World) -> None:
    job = await submitted(world, fetch={"auth": {"bearer": "${env:TOKEN}"}, "cookies": {"session": "hunter2"}})
    async with world.client() as client:
        shown = await client.get(f"/v1/jobs/{job}/specification")

    assert shown.json()["fetch"]["cookies"] == {"session": "***"}
    assert "hunter2" not in shown.text


async def test_two_changes_at_once_lose_nothing_of_each_other(world: World) -> None:
    job = await submitted(world)
    async with world.client() as client:
        await asyncio.gather(
            client.patch(f"/v1/jobs/{job}", json={"priority": 7}),
            client.post(f"/v1/jobs/{job}/pause"),
            client.patch(f"/v1/jobs/{job}", json={"meta": {"a": 1}}),
        )

    record = world.gateway.records.get(job)
    assert (record.wanted, record.version) == ("paused", 5)
    versions = [each.version for each in world.log.records()]
    assert versions == sorted(versions)


async def test_a_list_is_paged_newest_first_and_its_cursor_outlives_new_and_deleted_jobs(world: World) -> None:
    jobs = [JobRecord(job=f"j{number}", spec={}, created_at_ms=1000 + number // 2) for number in range(6)]
    world.jobs.values = {record.job: record for record in jobs}
    async with world.client() as client:
        first = (await client.get("/v1/jobs", params={"limit": 3})).json()
        world.jobs.values["new"] = JobRecord(job="new", spec={}, created_at_ms=9999)
        del world.jobs.values[first["data"][-1]["job_id"]]
        second = (await client.get("/v1/jobs", params={"limit": 3, "cursor": first["next_cursor"]})).json()

    assert [each["job_id"] for each in first["data"]] == ["j4", "j5", "j2"]
    assert [each["job_id"] for each in second["data"]] == ["j3", "j0", "j1"]
    assert second["next_cursor"] is None


async def test_a_list_can_be_filtered_by_state_and_refuses_a_cursor_that_is_none(world: World) -> None:
    job = await submitted(world)
    await submitted(world, seeds=[])
    async with world.client() as client:
        running = (await client.get("/v1/jobs", params={"state": "running"})).json()
        wrong = await client.get("/v1/jobs", params={"cursor": "nonsense"})

    assert [each["job_id"] for each in running["data"]] == [job]
    assert wrong.status_code == 400


async def test_a_standing_is_the_sum_of_the_partitions_and_ends_with_what_was_reached(world: World) -> None:
    job = await submitted(world)
    for partition in range(2):
        counters = Counters(accepted=5, fetched=3, kept=2, pending=2, items=4, links_found=5)
        report = Progress(job=job, partition=partition, offset=9, epoch=1, counters=counters, in_flight=1)
        world.progress.values[f"{job}:{partition}"] = report
    async with world.client() as client:
        running = (await client.get(f"/v1/jobs/{job}")).json()
        world.progress.values[job] = Reached(job=job, state="complete", epoch=1, at_ms=77)
        ended = (await client.get(f"/v1/jobs/{job}")).json()

    assert (running["state"], running["pages"], running["pending"], running["in_flight"]) == ("running", 4, 4, 2)
    assert (ended["state"], ended["reached_at_ms"]) == ("complete", 77)


async def test_events_end_with_the_job(world: World) -> None:
    job = await submitted(world)
    world.progress.values[job] = Reached(job=job, state="complete", epoch=1)
    async with world.client() as client:
        stream = await client.get(f"/v1/jobs/{job}/events")

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [line for line in stream.text.splitlines() if line.startswith("event:")] == ["event: progress", "event: end"]


async def test_events_of_a_job_that_was_opened_again_do_not_end_with_what_it_was_before(world: World) -> None:
    job = await submitted(world)
    world.progress.values[job] = Reached(job=job, state="complete", epoch=1)
    async with world.client() as client:
        before = (await client.get(f"/v1/jobs/{job}/events")).text
        await client.post(f"/v1/jobs/{job}/retry-failed")
        await client.post(f"/v1/jobs/{job}/cancel")
        after = (await client.get(f"/v1/jobs/{job}/events")).text

    assert before.endswith('event: end\ndata: {"state": "complete"}\n\n')
    assert after.endswith('event: end\ndata: {"state": "cancelled"}\n\n')


@pytest.mark.parametrize("path", ["", "/audit", "/specification", "/items", "/export", "/urls", "/events"])
async def test_a_job_nobody_knows_is_a_404_everywhere(world: World, path: str) -> None:
    async with world.client() as client:
        answer = await client.get(f"/v1/jobs/nobody{path}")

    assert (answer.status_code, answer.json()["title"]) == (404, "No such job")


async def test_purging_cancels_deletes_items_and_then_the_record(world: World) -> None:
    job = await submitted(world)
    world.store.items = {each["_id"]: each for each in (an_item(job, 1), an_item("other", 1))}
    async with world.client() as client:
        answer = await client.delete(f"/v1/jobs/{job}")
        gone = await client.get(f"/v1/jobs/{job}")

    assert answer.json() == {"job_id": job, "purged": True, "items_deleted": 1}
    assert list(world.store.items) == ["other:0001"]
    *_, told, last = world.log.sent
    assert (last.key, last.value) == (job, None)
    assert [fact.job for fact in decode(Batch, told.value or b"").facts if isinstance(fact, JobPurged)] == [job]
    assert world.log.records()[-1].wanted == "cancelled"
    assert gone.status_code == 404


async def test_a_job_with_fetches_under_way_is_cancelled_and_purged_later(world: World) -> None:
    job = await submitted(world)
    world.pipeline.through = False
    async with world.client() as client:
        early = await client.delete(f"/v1/jobs/{job}")
        state = (await client.get(f"/v1/jobs/{job}")).json()["state"]
        world.pipeline.through = True
        late = await client.delete(f"/v1/jobs/{job}")

    assert (early.status_code, early.json()["purged"], state) == (202, False, "cancelled")
    assert (late.status_code, late.json()["purged"]) == (200, True)


async def test_a_partition_that_has_not_heard_of_the_end_delays_the_purge(world: World) -> None:
    job = await submitted(world)
    world.progress.values[f"{job}:0"] = Progress(
        job=job, partition=0, offset=1, epoch=1, counters=Counters(), version=1
    )
    async with world.client() as client:
        answer = await client.delete(f"/v1/jobs/{job}")

    assert answer.status_code == 202
