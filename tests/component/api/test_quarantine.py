"""Traps and sitemaps over HTTP: what is held back, letting it go on, and what feeds a job."""

from typing import Any

import pytest
from tests.component.api.fakes import PARTITIONS, World

from odradek.contracts import Counters, JobRecord, PatternReleased, Progress, Question
from odradek.urls import partition_of

OWNER = partition_of("books.example", PARTITIONS)
PATTERN = "shop.books.example/list/{n}?page"


@pytest.fixture
def world() -> World:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={"seeds": [{"url": "https://books.example/"}]}, seeded=True)
    return world


def a_row(pattern: str, trapped: int) -> dict[str, Any]:
    return {
        "key": "books.example", "pattern": pattern, "pages": 100, "new_share": 0.01, "trapped": trapped,
        "released": False, "quarantined": "because",
    }  # fmt: skip


async def test_patterns_of_all_partitions_come_with_the_most_urls_first(world: World) -> None:
    def bodies(partition: int, question: Question) -> dict[str, Any]:
        assert (question.kind, question.limit) == ("quarantine", 2)
        return {"patterns": [a_row(f"h{partition}/{{n}}", partition)], "more": False}

    world.owners.bodies = bodies
    async with world.client() as client:
        found = (await client.get("/v1/jobs/j/quarantine", params={"limit": 2})).json()

    assert found == {"data": [a_row("h2/{n}", 2), a_row("h1/{n}", 1)], "next_cursor": None, "silent": [], "more": True}


async def test_without_any_answer_it_is_503(world: World) -> None:
    async with world.client() as client:
        assert (await client.get("/v1/jobs/j/quarantine")).status_code == 503


async def test_a_release_is_a_submission_that_reaches_the_owner_of_the_pattern_s_host(world: World) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs/j/quarantine/release", json={"pattern": PATTERN})

    assert answer.status_code == 202
    ((partition, fact),) = world.log.facts(PatternReleased)
    assert isinstance(fact, PatternReleased)
    assert (partition, fact.key, fact.pattern, fact.epoch) == (OWNER, "books.example", PATTERN, 2)
    assert [word.partition("@")[0] for word in world.log.story()] == [
        "record seeding", *["JobChanged"] * PARTITIONS, "PatternReleased", "record",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 422), ({"pattern": ""}, 422), ({"pattern": "/no/host"}, 422), ({"pattern": "a.example/", "x": 1}, 422)],
)
async def test_what_is_no_pattern_is_refused(world: World, body: dict[str, Any], status: int) -> None:
    async with world.client() as client:
        assert (await client.post("/v1/jobs/j/quarantine/release", json=body)).status_code == status
    assert world.log.sent == []


async def test_a_release_that_was_cut_off_is_finished_by_heal(world: World) -> None:
    left = f"first:release:1:{PATTERN}"
    world.jobs.values["j"] = JobRecord(job="j", spec={}, seeding=(left,), seeded=True, epoch=3)

    await world.gateway.heal()

    ((_, fact),) = world.log.facts(PatternReleased)
    assert isinstance(fact, PatternReleased)
    assert (fact.pattern, fact.epoch) == (PATTERN, 3)
    assert world.log.records()[-1].seeding == ()


async def test_a_job_s_sitemaps_are_counted_apart_and_can_be_listed(world: World) -> None:
    for partition in (0, 1):
        counted = Progress(job="j", partition=partition, offset=1, epoch=1, counters=Counters(),
                           sitemaps={"accepted": 2, "pending": partition})  # fmt: skip
        world.progress.values[f"j:{partition}"] = counted
    world.owners.bodies = lambda partition, question: {"urls": [{"run": question.run}], "after": None}
    async with world.client() as client:
        shown = (await client.get("/v1/jobs/j")).json()
        pages = (await client.get("/v1/jobs/j/urls")).json()
        sitemaps = (await client.get("/v1/jobs/j/urls", params={"kind": "sitemap"})).json()

    assert shown["sitemaps"] == {"accepted": 4, "pending": 1}
    assert ([each["run"] for each in pages["data"]], [each["run"] for each in sitemaps["data"]]) == (
        [1] * PARTITIONS, [-1] * PARTITIONS,
    )  # fmt: skip
