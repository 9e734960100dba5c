"""Pages read again: what the gateway writes when it is asked, and how far it says that it is."""

from typing import Any

import pytest
from tests.component.api.fakes import PARTITIONS, FakePages, World

from odradek.contracts import JobRecord, Reparse

SPEC: dict[str, Any] = {"name": "books", "seeds": ["https://books.example/"]}
RULES = [{"type": "book", "fields": {"title": {"css": "h1"}}}]


@pytest.fixture
def world() -> World:
    return World(pages=FakePages(unread=4))


async def submitted(world: World) -> str:
    async with world.client() as client:
        return str((await client.post("/v1/jobs", json=SPEC)).json()["job_id"])


def newest(world: World) -> JobRecord:
    return world.log.records()[-1]


async def test_new_rules_are_told_to_all_then_the_bounds_are_written_and_no_fact_changes_the_ledger(
    world: World,
) -> None:
    job = await submitted(world)
    before = len(world.log.sent)

    async with world.client() as client:
        answer = await client.post(f"/v1/jobs/{job}/reparse", json={"extract": RULES})

    assert (answer.status_code, answer.json()["number"], answer.json()["state"]) == (202, 1, "reading")
    assert (answer.json()["records_total"], answer.json()["records_left"]) == (24, 4)
    changed, asked = world.log.records()[-2:]
    assert [rule["type"] for rule in changed.spec["extract"]] == ["book"]
    assert (changed.reparse, asked.version) == (None, changed.version + 1)
    assert asked.reparse is not None
    assert asked.reparse == Reparse(
        number=1, starts=(2, 2, 2), ends=(10, 10, 10), asked_at_ms=asked.reparse.asked_at_ms
    )
    assert len(world.log.sent) - before == 2 + PARTITIONS


async def test_without_a_body_the_rules_stay_and_only_the_record_is_written(world: World) -> None:
    job = await submitted(world)
    before = newest(world)

    async with world.client() as client:
        answers = [await client.post(f"/v1/jobs/{job}/reparse") for _ in range(2)]

    assert [answer.json()["number"] for answer in answers] == [1, 2]
    assert (newest(world).spec, newest(world).epoch) == (before.spec, before.epoch)


async def test_it_goes_from_reading_over_indexing_to_done(world: World) -> None:
    job = await submitted(world)
    states = []

    async with world.client() as client:
        await client.post(f"/v1/jobs/{job}/reparse")
        for unread, stored in ((1, False), (0, False), (0, True)):
            world.pages.unread, world.pages.stored = unread, stored
            states.append((await client.get(f"/v1/jobs/{job}/reparse")).json()["state"])

    assert states == ["reading", "indexing", "done"]


async def test_a_job_that_is_over_can_be_read_again(world: World) -> None:
    job = await submitted(world)

    async with world.client() as client:
        await client.post(f"/v1/jobs/{job}/cancel")
        answer = await client.post(f"/v1/jobs/{job}/reparse", json={"extract": RULES})

    assert answer.status_code == 202
    assert newest(world).wanted == "cancelled"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"scope": {}}, "Send {"),
        ([], "Send {"),
        ({"extract": [{"type": "x", "fields": {"a": {"css": "p["}}}]}, "is not a CSS selector"),
    ],
)
async def test_what_is_no_rule_is_refused_and_changes_nothing(world: World, body: Any, said: str) -> None:
    job = await submitted(world)
    before = len(world.log.sent)

    async with world.client() as client:
        answer = await client.post(f"/v1/jobs/{job}/reparse", json=body)

    assert (answer.status_code, len(world.log.sent)) == (422, before)
    assert said in answer.json()["detail"]


async def test_a_job_that_nobody_knows_or_that_was_never_read_again_is_404(world: World) -> None:
    job = await submitted(world)

    async with world.client() as client:
        answers = [await client.get(f"/v1/jobs/{name}/reparse") for name in (job, "nobody")]

    assert [answer.status_code for answer in answers] == [404, 404]
