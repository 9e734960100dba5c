"""Items, exports, crawl events and dead letters over HTTP."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.component.api.fakes import World, a_letter, an_item

from odradek.contracts import JobRecord


@pytest.fixture
def world() -> World:
    world = World()
    for job in ("j", "i"):
        world.jobs.values[job] = JobRecord(job=job, spec={})
    world.store.items = {each["_id"]: each for each in (*(an_item("j", n) for n in range(5)), an_item("i", 1))}
    return world


async def got(world: World, path: str, **parameters: Any) -> Any:
    async with world.client() as client:
        return await client.get(path, params=parameters)


async def test_items_are_paged_and_a_cursor_stays_while_items_come(world: World) -> None:
    first = (await got(world, "/v1/jobs/j/items", limit=2)).json()
    world.store.items["j:0000a"] = an_item("j", 0, _id="j:0000a")
    second = (await got(world, "/v1/jobs/j/items", limit=9, cursor=first["next_cursor"])).json()

    assert [each["_id"] for each in first["data"]] == ["j:0000", "j:0001"]
    assert [each["_id"] for each in second["data"]] == ["j:0002", "j:0003", "j:0004"]
    assert second["next_cursor"] is None


async def test_a_cursor_of_another_job_opens_no_other_job(world: World) -> None:
    assert (await got(world, "/v1/jobs/j/items", cursor="i:0000")).status_code == 400
    assert (await got(world, "/v1/jobs/j/items", cursor="")).status_code == 400


async def test_items_can_be_asked_for_by_type(world: World) -> None:
    world.store.items["j:9"] = an_item("j", 9, _id="j:9", type="author")

    found = (await got(world, "/v1/jobs/j/items", type="author")).json()["data"]

    assert [each["_id"] for each in found] == ["j:9"]


async def test_stored_items_are_counted_afresh(world: World) -> None:
    world.store.items["j:9"] = an_item("j", 9, _id="j:9", type="author")

    assert (await got(world, "/v1/jobs/j/items/count")).json() == {"total": 6}
    assert (await got(world, "/v1/jobs/j/items/count", type="author")).json() == {"total": 1}
    assert (await got(world, "/v1/jobs/nobody/items/count")).status_code == 404


async def test_an_export_has_every_item_of_the_job_in_each_format(world: World) -> None:
    lines = await got(world, "/v1/jobs/j/export")
    table = await got(world, "/v1/jobs/j/export", format="csv")
    parquet = await got(world, "/v1/jobs/j/export", format="parquet")

    ids = [f"j:{number:04}" for number in range(5)]
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert lines.headers["content-disposition"] == 'attachment; filename="j.jsonl"'
    assert lines.text.count("\n") == 5
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["_id"] for row in rows] == ids
    assert rows[0]["data.title"] == "Book 0"
    columns = pq.read_table(io.BytesIO(parquet.content)).to_pydict()
    assert (columns["_id"], columns["run"]) == (ids, [1] * 5)


async def test_an_export_can_be_of_some_items_only(world: World) -> None:
    world.store.items["j:9"] = an_item("j", 9, _id="j:9", type="author")

    lines = await got(world, "/v1/jobs/j/export", type="author")
    table = await got(world, "/v1/jobs/j/export", type="author", format="csv")

    assert [json.loads(line)["_id"] for line in lines.text.splitlines()] == ["j:9"]
    assert [row["_id"] for row in csv.DictReader(io.StringIO(table.text))] == ["j:9"]
    assert (await got(world, "/v1/jobs/j/export", since="yesterday")).status_code == 422
    assert (await got(world, "/v1/jobs/j/export", change="lost")).status_code == 422


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
async def test_an_export_of_nothing_is_a_whole_file(world: World, format_: str) -> None:
    world.store.items.clear()

    answer = await got(world, "/v1/jobs/j/export", format=format_)

    assert answer.status_code == 200
    if format_ == "parquet":
        assert pq.read_table(io.BytesIO(answer.content)).num_rows == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/j/items",
        "/v1/jobs/j/export",
        "/v1/jobs/j/export?format=csv",
        "/v1/jobs/j/export?format=parquet",
        "/v1/logs",
        "/v1/logs/facets",
        "/v1/dead-letters",
        "/v1/dead-letters/reasons",
    ],
)
async def test_a_store_that_is_away_is_a_503_and_jobs_still_answer(world: World, path: str) -> None:
    world.store.away = True

    answer = await got(world, path)

    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert (await got(world, "/v1/jobs/j")).status_code == 200


async def test_filters_become_a_query_in_which_all_must_hold(world: World) -> None:
    await got(world, "/v1/logs", job="j", status=404, host="a.example", q="slow", since="2026-01-31", outcome="failed")

    assert world.store.asked == [
        {
            "bool": {
                "filter": [
                    {"term": {"odradek.job_id": "j"}},
                    {"term": {"url.domain": "a.example"}},
                    {"term": {"http.response.status_code": 404}},
                    {"term": {"odradek.outcome": "failed"}},
                    {"range": {"@timestamp": {"gte": "2026-01-31"}}},
                    {"query_string": {"query": "slow"}},
                ]
            }
        }
    ]


async def test_events_are_paged_by_cursor(world: World) -> None:
    world.store.logs = [{"n": number} for number in range(5)]

    first = (await got(world, "/v1/logs", limit=3)).json()
    second = (await got(world, "/v1/logs", limit=3, cursor=first["next_cursor"])).json()

    assert ([each["n"] for each in first["data"]], first["total"]) == ([0, 1, 2], 5)
    assert ([each["n"] for each in second["data"]], second["next_cursor"]) == ([3, 4], None)


@pytest.mark.parametrize("cursor", ["nonsense", "e30", "WzFd", "%%%", "W3t9LDFd"])
async def test_a_cursor_that_is_none_is_a_400(world: World, cursor: str) -> None:
    assert (await got(world, "/v1/logs", cursor=cursor)).status_code == 400


@pytest.mark.parametrize("since", ["yesterday", "5 minutes", "2026-1-1", "now-1h"])
async def test_an_instant_that_is_none_is_named(world: World, since: str) -> None:
    answer = await got(world, "/v1/logs", since=since)

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "since")


async def test_facets_count_what_the_same_filters_find(world: World) -> None:
    answer = await got(world, "/v1/logs/facets", job="j")

    assert (answer.json()["total"], answer.json()["outcome"]) == (1, [{"value": "failed", "count": 1}])
    assert world.store.asked == [{"bool": {"filter": [{"term": {"odradek.job_id": "j"}}]}}]


async def replayed(world: World, **body: Any) -> Any:
    async with world.client() as client:
        return await client.post("/v1/dead-letters/replay", json=body)


async def test_dead_letters_are_listed_by_reason_with_the_beginning_of_their_value(world: World) -> None:
    world.store.dead = {each["_id"]: each for each in (a_letter(), a_letter(_id="b", reason="other"))}

    (letter,) = (await got(world, "/v1/dead-letters", reason="poison")).json()["data"]

    assert (letter["id"], letter["preview"]) == ("odradek.scheduled-1-7", "\x00untouched")


async def test_dead_letters_are_counted_by_reason_and_how_many_were_sent_again(world: World) -> None:
    letters = [a_letter(_id=f"{n}", reason="poison" if n else "other", replayed_at=n or None) for n in range(4)]
    world.store.dead = {each["_id"]: each for each in (*letters, a_letter(_id="elsewhere", job_id="i"))}

    answer = await got(world, "/v1/dead-letters/reasons", job="j")

    assert answer.json() == {
        "data": [
            {"reason": "poison", "count": 3, "replayed": 3},
            {"reason": "other", "count": 1, "replayed": 0},
        ]
    }


async def test_a_replay_sends_the_untouched_value_to_its_source_once(world: World) -> None:
    world.store.dead = {"odradek.scheduled-1-7": a_letter()}

    first = await replayed(world, job="j")
    second = await replayed(world, job="j")

    assert first.json() == {"replayed": 1, "refused": [], "refused_total": 0}
    assert second.json()["replayed"] == 0
    (send,) = world.log.sent
    assert (send.topic, send.key, send.value, send.partition) == ("scheduled", "fp", b"\x00untouched", 1)


async def test_a_page_is_replayed_with_its_metadata(world: World) -> None:
    source = {"topic": "odradek.pages", "partition": 2, "offset": 1, "key": "fp"}
    world.store.dead = {"odradek.pages-2-1": a_letter(_id="odradek.pages-2-1", source=source, page=b"{}")}

    await replayed(world, ids=["odradek.pages-2-1"])

    assert world.log.sent[0].headers == (("page", b"{}"),)


async def test_what_cannot_be_replayed_is_refused_with_its_reason(world: World) -> None:
    foreign = {"topic": "billing", "partition": 0, "offset": 1, "key": ""}
    letters = (
        a_letter(_id="odradek.scheduled-1-7-book-0"),
        a_letter(_id="billing-0-1", source=foreign),
        a_letter(value=None),
    )
    world.store.dead = {each["_id"]: each for each in letters}

    answer = (await replayed(world, reason="poison")).json()

    assert (answer["replayed"], answer["refused_total"], world.log.sent) == (0, 3, [])
    assert {each["id"] for each in answer["refused"]} == set(world.store.dead)


async def test_a_replay_of_everything_must_be_asked_for_by_something(world: World) -> None:
    assert (await replayed(world)).status_code == 422
    assert (await replayed(world, resaon="poison")).json()["errors"][0]["field"] == "resaon"
