"""Seeds over HTTP: any number in one call, each with a verdict, none lost when something is cut off."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from starlette.requests import ClientDisconnect
from structlog.testing import capture_logs
from tests.component.api.fakes import PARTITIONS, World

from odradek.contracts import Discovered, JobChanged, JobRecord, Reached, RetryAsked
from odradek.errors import InfrastructureAway
from odradek_api.app import create_app
from odradek_api.core.seeds import SeedLine

LINES = b"https://a.example/\n\n# no seed\nftp://b.example/\nhttps://c.example/x\n"


@pytest.fixture
def world() -> World:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={"name": "j"}, epoch=1)
    return world


async def posted(world: World, body: Any, kind: str, **headers: str) -> httpx.Response:
    async with world.client() as client:
        return await client.post("/v1/jobs/j/seeds", content=body, headers={"content-type": kind, **headers})


def urls(world: World) -> list[str]:
    return sorted(fact.url for _, fact in world.log.facts(Discovered))  # type: ignore[union-attr]


async def test_text_is_taken_line_by_line_and_rejections_name_line_and_reason(world: World) -> None:
    answer = await posted(world, LINES, "text/plain; charset=utf-8")

    assert (answer.status_code, answer.json()) == (
        202,
        {
            "received": 2,
            "rejected": [{"line": 4, "url": "ftp://b.example/", "reason": "scheme"}],
            "rejected_total": 1,
        },
    )
    assert urls(world) == ["https://a.example/", "https://c.example/x"]


async def test_a_submission_of_seeds_raises_the_epoch_before_and_is_noted_as_done_after(world: World) -> None:
    await posted(world, b"https://a.example/", "text/plain")

    story = world.log.story()
    told = [f"JobChanged@{partition}" for partition in range(PARTITIONS)]
    assert story[: 1 + PARTITIONS] == ["record seeding", *told]
    assert story[1 + PARTITIONS].startswith("Discovered@")
    assert story[2 + PARTITIONS :] == ["record"]
    assert [(record.epoch, record.seeded) for record in world.log.records()] == [(2, False), (2, True)]
    assert {fact.epoch for _, fact in world.log.facts(JobChanged)} == {2}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'["https://a.example/", {"url": "https://c.example/x", "priority": 90}]'),
        ("application/x-ndjson", b'"https://a.example/"\n{"url": "https://c.example/x", "priority": 90}'),
        ("text/csv", b"priority,url\n,https://a.example/\n90,https://c.example/x"),
    ],
)
async def test_every_kind_of_body_gives_the_same_seeds(world: World, kind: str, body: bytes) -> None:
    answer = await posted(world, body, kind)

    assert answer.json() == {"received": 2, "rejected": [], "rejected_total": 0}
    found = {fact.url: fact.priority for _, fact in world.log.facts(Discovered)}  # type: ignore[union-attr]
    assert found == {"https://a.example/": 50, "https://c.example/x": 90}


async def test_thousands_of_seeds_in_one_stream_are_all_accounted_for(world: World) -> None:
    async def body() -> AsyncIterator[bytes]:
        for number in range(0, 20_000, 1000):
            yield b"".join(
                b"mailto:nobody\n" if each % 10 == 0 else b"https://h%d.example/%d\n" % (each % 7, each)
                for each in range(number, number + 1000)
            )

    answer = (await posted(world, body(), "text/plain")).json()

    assert (answer["received"], answer["rejected_total"], len(answer["rejected"])) == (18_000, 2000, 1000)
    assert answer["rejected"][-1]["line"] == 9991
    assert len(set(urls(world))) == 18_000


async def test_verdicts_come_line_by_line_to_who_asks_for_them(world: World) -> None:
    answer = await posted(world, LINES, "text/plain", accept="application/x-ndjson")

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [msgspec.json.decode(line) for line in answer.content.splitlines()] == [
        {"line": 1, "url": "https://a.example/", "verdict": "received"},
        {"line": 4, "url": "ftp://b.example/", "verdict": "rejected", "reason": "scheme"},
        {"line": 5, "url": "https://c.example/x", "verdict": "received"},
        {"received": 2, "rejected_total": 1},
    ]
    assert world.gateway.records.get("j").seeding == ()


async def test_verdicts_that_kafka_cuts_off_end_with_a_line_that_says_so(world: World) -> None:
    world.log.away_after = 1 + PARTITIONS

    answer = await posted(world, b"https://a.example/", "text/plain", accept="application/x-ndjson")

    assert [msgspec.json.decode(line) for line in answer.content.splitlines()] == [{"error": "no broker"}]


async def test_a_client_that_goes_away_in_the_middle_is_no_bug(world: World) -> None:
    pieces = [{"type": "http.request", "body": b"https://a.example/\nhttps://b", "more_body": True}]

    async def receive() -> dict[str, Any]:
        return pieces.pop() if pieces else {"type": "http.disconnect"}

    statuses: list[Any] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    scope = {
        "type": "http", "method": "POST", "path": "/v1/jobs/j/seeds", "query_string": b"", "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"text/plain"), (b"transfer-encoding", b"chunked")],
    }  # fmt: skip
    with capture_logs() as logs:
        await create_app(world.parts())(scope, receive, send)

    assert (statuses[0], [entry["event"] for entry in logs]) == (400, ["client_gone"])
    assert world.gateway.records.get("j").seeding == ()


async def test_seeds_open_a_finished_job_again(world: World) -> None:
    world.progress.values["j"] = Reached(job="j", state="complete", epoch=1)
    assert world.gateway.standing("j").state == "complete"

    await posted(world, b"https://a.example/", "text/plain")

    assert world.gateway.standing("j").state == "running"


@pytest.mark.parametrize(
    ("body", "status"), [(b'{"url": "https://a.example/"}', 422), (b"[", 400), (b'"https://a.example/"', 422)]
)
async def test_json_that_is_no_list_opens_nothing(world: World, body: bytes, status: int) -> None:
    answer = await posted(world, body, "application/json")

    assert (answer.status_code, world.log.sent) == (status, [])


async def test_two_streams_at_once_keep_the_job_open_until_both_are_done(world: World) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[Any]:
        begun.set()
        yield [(1, SeedLine("https://a.example/"))]
        await gate.wait()
        yield [(2, SeedLine("https://b.example/"))]

    async def quick() -> AsyncIterator[Any]:
        yield [(1, SeedLine("https://c.example/"))]

    first = asyncio.create_task(world.gateway.seeding.add("j", slow()))
    await begun.wait()
    await world.gateway.seeding.add("j", quick())
    between = world.gateway.records.get("j")
    gate.set()
    await first

    assert (len(between.seeding), between.epoch) == (1, 3)
    assert world.gateway.records.get("j").seeding == ()
    assert len(urls(world)) == 3


async def test_a_stream_that_breaks_leaves_what_came_and_closes_its_submission(world: World) -> None:
    async def breaking() -> AsyncIterator[Any]:
        yield [(1, SeedLine("https://a.example/"))]
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await world.gateway.seeding.add("j", breaking())

    record = world.gateway.records.get("j")
    assert (record.seeding, record.seeded, urls(world)) == ((), True, ["https://a.example/"])


@pytest.mark.parametrize("taken", range(7))
async def test_wherever_kafka_goes_away_in_a_submission_another_gateway_finishes_it(taken: int) -> None:
    world = World()
    world.log.away_after = taken
    async with world.client() as client:
        spec = {"name": "books", "seeds": ["https://books.example/"]}
        answer = await client.post("/v1/jobs", json=spec, headers={"Idempotency-Key": "k"})
        assert answer.status_code == (201 if taken == 6 else 503)
        world.log.away_after = None
        # Once as after a kill, once more for good measure: nothing may change then.
        after = world.another_gateway()
        await after.recover()
        await after.heal({"first"})
        settled = [record.seeding for record in world.gateway.records.all()]
        again = await client.post("/v1/jobs", json=spec, headers={"Idempotency-Key": "k"})

    assert settled == ([] if taken == 0 else [()])
    assert again.status_code == 201
    (record,) = world.gateway.records.all()
    assert (record.seeding, record.seeded) == ((), True)
    assert set(urls(world)) == {"https://books.example/"}
    assert {partition for partition, _ in world.log.facts(JobChanged)} == set(range(PARTITIONS))


async def test_the_same_gateway_heals_without_a_restart(world: World) -> None:
    world.log.away_after = 2
    with pytest.raises(InfrastructureAway):
        await world.gateway.want("j", "paused")
    world.log.away_after = None

    await world.gateway.heal()

    paused = {partition for partition, fact in world.log.facts(JobChanged) if fact.wanted == "paused"}  # type: ignore[union-attr]
    assert paused == set(range(PARTITIONS))
    sent = len(world.log.sent)
    await world.gateway.heal()
    assert len(world.log.sent) == sent


async def test_seeds_cut_off_by_a_kill_count_as_seeded_and_keep_the_job_open_no_longer(world: World) -> None:
    world.jobs.values["j"] = JobRecord(job="j", spec={}, epoch=2, seeding=("gone:seeds:abc:",))

    await world.gateway.heal({"gone"})

    record = world.gateway.records.get("j")
    assert (record.seeding, record.seeded) == ((), True)


async def test_a_retry_that_was_cut_off_is_asked_again_with_its_reason(world: World) -> None:
    world.jobs.values["j"] = JobRecord(job="j", spec={}, epoch=2, seeding=("gone:retry:abc:dns",), seeded=False)

    await world.gateway.heal({"gone"})

    assert {fact.reason for _, fact in world.log.facts(RetryAsked)} == {"dns"}  # type: ignore[union-attr]
    assert world.gateway.records.get("j").seeded is False


async def test_a_submission_of_another_gateway_is_left_to_it(world: World) -> None:
    record = JobRecord(job="j", spec={}, epoch=2, seeding=("elsewhere:seeds:abc:",))
    world.jobs.values["j"] = record

    await world.gateway.recover()
    await world.gateway.heal({"gone"})

    assert world.gateway.records.get("j").seeding == record.seeding
    assert world.gateway.begun_by() == {"elsewhere"}


async def test_a_gateway_taken_for_gone_while_it_streams_opens_the_job_again(world: World) -> None:
    other = world.another_gateway()

    async def slow() -> AsyncIterator[Any]:
        yield [(1, SeedLine("https://a.example/"))]
        await other.heal({"first"})
        seen.append(world.gateway.records.get("j"))
        yield [(2, SeedLine("https://b.example/"))]
        seen.append(world.gateway.records.get("j"))

    seen: list[JobRecord] = []
    await world.gateway.seeding.add("j", slow())

    taken, held = seen
    assert (taken.seeding, len(held.seeding), held.epoch) == ((), 1, taken.epoch + 1)
    assert world.gateway.records.get("j").seeding == ()


async def test_a_submission_under_way_is_not_healed_away(world: World) -> None:
    async def healing() -> AsyncIterator[Any]:
        yield [(1, SeedLine("https://a.example/"))]
        await world.gateway.heal()
        seen.append(world.gateway.records.get("j").seeding)

    seen: list[tuple[str, ...]] = []
    await world.gateway.seeding.add("j", healing())

    assert len(seen[0]) == 1


async def cut_off(world: World, body: bytes, key: str) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield body
        raise ClientDisconnect

    answer = await posted(world, breaking(), "text/plain", **{"idempotency-key": key})
    assert (answer.status_code, answer.json()["title"]) == (400, "Cut off")


A_LIST = b"".join(b"nonsense %d\n" % n if n % 100 == 0 else b"https://h.example/%d\n" % n for n in range(1, 9001))


async def test_a_list_with_a_key_that_was_cut_off_and_comes_again_adds_nothing_twice(world: World) -> None:
    await cut_off(world, A_LIST[:150_000], "k")
    before = len(urls(world))
    answer = await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})

    assert 2000 <= before < 8000
    assert (answer.json()["received"], answer.json()["rejected_total"]) == (8910, 90)
    assert answer.json()["rejected"][0] == {"line": 100, "url": "nonsense 100", "reason": "malformed"}
    assert len(urls(world)) == len(set(urls(world))) == 8910


async def test_a_whole_list_that_comes_again_with_its_key_is_answered_the_same_and_changes_nothing(
    world: World,
) -> None:
    first = await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})
    sent = len(world.log.sent)
    again = await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})

    assert again.json() == first.json()
    assert len(world.log.sent) == sent


@pytest.mark.parametrize(
    "other",
    [
        A_LIST.replace(b"/1\n", b"/one\n"),
        A_LIST + b"https://h.example/more\n",
        A_LIST[: A_LIST.index(b"https://h.example/8001\n")],
    ],
    ids=["changed", "longer", "shorter"],
)
async def test_another_list_with_a_key_that_was_used_is_refused_and_nothing_of_it_is_taken(
    world: World, other: bytes
) -> None:
    await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})
    sent = len(world.log.sent)
    answer = await posted(world, other, "text/plain", **{"idempotency-key": "k"})

    assert (answer.status_code, answer.json()["title"]) == (422, "Key used twice")
    assert len(world.log.sent) == sent


async def test_the_same_key_in_two_jobs_is_two_keys(world: World) -> None:
    world.jobs.values["other"] = JobRecord(job="other", spec={"name": "other"}, epoch=1)
    await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})
    async with world.client() as client:
        answer = await client.post(
            "/v1/jobs/other/seeds",
            content=b"https://a.example/",
            headers={"content-type": "text/plain", "idempotency-key": "k"},
        )

    assert answer.json()["received"] == 1


async def test_a_list_cut_off_where_kafka_went_away_goes_on_there(world: World) -> None:
    world.log.away_after = 1 + PARTITIONS + 8
    first = await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})
    world.log.away_after = None
    await world.gateway.heal()
    again = await posted(world, A_LIST, "text/plain", **{"idempotency-key": "k"})

    assert first.status_code == 503
    assert again.json()["received"] == len(set(urls(world))) == 8910
