"""An export that a browser can follow a link to: without the key, and for nobody else."""

import hashlib
from typing import Any

import httpx
import pytest
from tests.component.api.fakes import World, an_item

from odradek.contracts import JobRecord
from odradek_api.tickets import MOST_TICKETS, VALID_S, Tickets

KEY = "correct-horse"
KEYS = {"ODRADEK_API_KEYS": f"alice:{hashlib.sha256(KEY.encode()).hexdigest()}"}
PATH, QUERY = "/v1/jobs/j/export", "format=csv&type=book"


@pytest.fixture
def world() -> World:
    world = World(KEYS)
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    world.store.items = {each["_id"]: each for each in (an_item("j", 1), an_item("j", 2, type="page"))}
    return world


async def a_link(client: httpx.AsyncClient, **parameters: Any) -> str:
    answer = await client.post(f"{PATH}-link", params=parameters, headers={"x-api-key": KEY})
    assert answer.status_code == 201
    return str(answer.json()["href"])


async def test_a_link_gives_its_export_without_a_key_and_once(world: World) -> None:
    async with world.client() as client:
        href = await a_link(client, format="jsonl", type="book")
        first, second = await client.get(href), await client.get(href)

    assert (first.status_code, first.text.count("\n")) == (200, 1)
    assert first.headers["content-disposition"] == 'attachment; filename="j.jsonl"'
    assert second.status_code == 401
    assert KEY not in href


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/jobs/j/export", "/jobs/i/export"),
        ("/export?", "/items?"),
        ("format=jsonl", "format=csv"),
        ("&ticket=", "&type=page&ticket="),
        ("type=book", "type=page"),
        ("&ticket=", "&ticket=x"),
    ],
)
async def test_a_link_opens_nothing_else_and_is_lost_by_trying(world: World, before: str, after: str) -> None:
    async with world.client() as client:
        href = await a_link(client, format="jsonl", type="book")
        assert before in href
        other = await client.get(href.replace(before, after, 1))
        again = await client.get(href)

    assert other.status_code == 401
    assert again.status_code == (200 if after == "&ticket=x" else 401)


async def test_a_link_is_for_reading_and_is_not_made_without_a_key_or_for_no_job(world: World) -> None:
    async with world.client() as client:
        href = await a_link(client)
        assert (await client.delete(href)).status_code == 401
        assert (await client.post(f"{PATH}-link")).status_code == 401
        none = await client.post("/v1/jobs/none/export-link", headers={"x-api-key": KEY})
        wrong = await client.post(f"{PATH}-link?since=whenever", headers={"x-api-key": KEY})

    assert (none.status_code, wrong.status_code) == (404, 422)


async def test_where_no_keys_exist_a_link_is_an_address_like_any_other() -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    async with world.client() as client:
        href = str((await client.post(f"{PATH}-link")).json()["href"])
        assert [(await client.get(href)).status_code for _ in range(2)] == [200, 200]


def test_a_ticket_is_good_for_a_minute() -> None:
    tickets = Tickets()
    in_time, too_late = tickets.give(PATH, QUERY, "alice", 10.0), tickets.give(PATH, QUERY, "alice", 10.0)

    assert tickets.take(PATH, in_time, 10.0 + VALID_S) == ("alice",)
    assert tickets.take(PATH, too_late, 10.1 + VALID_S) is None


def test_of_a_ticket_only_a_hash_is_kept_and_no_more_than_a_thousand_are() -> None:
    tickets = Tickets()
    given = [tickets.give(PATH, QUERY, None, 0.0) for _ in range(MOST_TICKETS + 1)]

    assert given[-1].rpartition("=")[2] not in repr(tickets)
    assert tickets.take(PATH, given[0], 0.0) is None
    assert tickets.take(PATH, given[-1], 0.0) == (None,)
