"""Who may ask, and that every refusal is a problem document."""

import hashlib
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.component.api.fakes import World

from odradek.contracts import Discovered, JobRecord
from odradek.errors import UserError
from odradek.settings import Settings
from odradek.topics import FRONTIER, JOBS
from odradek_api.core.limits import Rates
from odradek_api.security import refuse_open_door

KEY = "correct-horse"
KEYS = {"ODRADEK_API_KEYS": f"alice:{hashlib.sha256(KEY.encode()).hexdigest()},bob:{'0' * 64}"}


def same(answer: Any, status: int, title: str) -> bool:
    document = answer.json()
    return (
        (answer.status_code, answer.headers["content-type"], document["title"], document["status"])
        == (status, "application/problem+json", title, status)
        and bool(document["detail"])
        and document["instance"] == answer.request.url.path
    )


@pytest.mark.parametrize("key", [None, "", "wrong", "0" * 64])
async def test_without_a_valid_key_nothing_is_answered_where_keys_exist(key: str | None) -> None:
    async with World(KEYS).client(**({} if key is None else {"x-api-key": key})) as client:
        assert same(await client.get("/v1/jobs"), 401, "Who is asking?")
        assert same(await client.get("/metrics"), 401, "Who is asking?")
        assert (await client.get("/health/live")).status_code == 200


async def test_a_key_gives_its_name_to_the_jobs_it_makes() -> None:
    world = World(KEYS)
    async with world.client(**{"x-api-key": KEY}) as client:
        await client.post("/v1/jobs", json={"seeds": ["https://a.example/"]})

    assert [record.owner for record in world.gateway.records.all()] == ["alice"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""])
async def test_on_loopback_another_host_name_is_refused_so_that_no_name_can_be_rebound_to_it(host: str) -> None:
    async with World().client(host=host) as client:
        assert same(await client.get("/v1/jobs"), 403, "Wrong host")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "[::1]", "[::1]:8000", "LOCALHOST"])
async def test_every_spelling_of_loopback_is_welcome(host: str) -> None:
    async with World().client(host=host) as client:
        assert (await client.get("/v1/jobs")).status_code == 200


@pytest.mark.parametrize("environ", [{}, {"ODRADEK_API_HOST": "0.0.0.0", "ODRADEK_INSECURE": "1"}])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9"])
async def test_a_web_page_of_another_origin_can_do_nothing(environ: dict[str, str], origin: str) -> None:
    world = World(environ)
    async with world.client(origin=origin) as client:
        answer = await client.post("/v1/jobs/j/seeds", content=b"x", headers={"content-type": "text/plain"})
        assert same(answer, 403, "Wrong origin")


async def test_the_own_console_may_ask() -> None:
    async with World().client(origin="http://127.0.0.1:8000") as client:
        assert (await client.get("/v1/jobs")).status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_body_that_a_form_could_send_is_refused(kind: str | None) -> None:
    async with World().client() as client:
        headers = {} if kind is None else {"content-type": kind}
        assert same(await client.post("/v1/jobs", content=b"{}", headers=headers), 415, "Unknown body type")


async def test_a_body_in_chunks_is_checked_too() -> None:
    async def chunks() -> Any:
        yield b"{}"

    async with World().client() as client:
        answer = await client.post("/v1/jobs", content=chunks(), headers={"content-type": "text/plain"})
        assert same(answer, 415, "Unknown body type")


async def test_every_answer_has_a_request_id_and_a_good_one_is_kept() -> None:
    async with World().client() as client:
        own = await client.get("/v1/jobs", headers={"x-request-id": "abc-1"})
        bad = await client.get("/v1/nowhere", headers={"x-request-id": "a b<script>"})

    assert own.headers["x-request-id"] == "abc-1"
    assert len(bad.headers["x-request-id"]) == 32


async def test_every_refusal_is_a_problem_document() -> None:
    world = World()
    async with world.client() as client:
        assert same(await client.get("/nowhere"), 404, "Not possible")
        assert same(await client.put("/v1/jobs", json={}), 405, "Not possible")
        assert same(await client.get("/v1/jobs", params={"limit": "many"}), 422, "Wrong parameter")
        assert same(await client.post("/v1/jobs/j/dance"), 422, "Wrong parameter")
        world.log.away_after = 0
        assert same(await client.post("/v1/jobs", json={}), 503, "Kafka is away")


async def test_a_bug_is_a_problem_document_without_its_secrets() -> None:
    world = World()
    world.store.items["broken"] = {}
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    with capture_logs() as logs:
        async with world.client() as client:
            answer = await client.get("/v1/jobs/j/items")

    assert same(answer, 500, "A bug")
    assert "KeyError" not in answer.text
    assert [(entry["event"], entry["path"]) for entry in logs] == [("request_crashed", "/v1/jobs/j/items")]


async def test_a_wrong_parameter_is_named() -> None:
    async with World().client() as client:
        answer = await client.get("/v1/jobs", params={"limit": 0})

    assert answer.json()["errors"][0]["field"] == "limit"


async def test_ready_says_what_it_waits_for() -> None:
    world = World()
    async with world.client() as client:
        ready = await client.get("/health/ready")
        world.unready = "reading the topics"
        waiting = await client.get("/health/ready")

    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    assert (waiting.status_code, waiting.json()) == (503, {"status": "waiting", "detail": "reading the topics"})


def test_beyond_loopback_the_gateway_wants_keys() -> None:
    with pytest.raises(UserError, match="without API keys"):
        refuse_open_door(Settings.read({"ODRADEK_API_HOST": "0.0.0.0"}))
    refuse_open_door(Settings.read({"ODRADEK_API_HOST": "0.0.0.0"} | KEYS))
    refuse_open_door(Settings.read({"ODRADEK_API_HOST": "0.0.0.0", "ODRADEK_INSECURE": "1"}))
    refuse_open_door(Settings.read({}))


@pytest.mark.parametrize("entry", ["alice", "alice:plain-text-key", f"alice:{'A' * 64}"])
def test_a_key_that_is_not_a_hash_is_refused_at_start(entry: str) -> None:
    with pytest.raises(UserError, match="ODRADEK_API_KEYS"):
        refuse_open_door(Settings.read({"ODRADEK_API_KEYS": entry}))


async def test_a_request_id_is_in_the_answer_in_problems_and_on_every_message_that_the_request_caused() -> None:
    world = World()
    async with world.client(**{"x-request-id": "abc-1"}) as client:
        submitted = await client.post("/v1/jobs", json={"seeds": ["https://a.example/"]})
        refused = await client.get("/v1/jobs/nobody")

    assert submitted.headers["x-request-id"] == refused.headers["x-request-id"] == "abc-1"
    assert refused.json()["request_id"] == "abc-1"
    assert {send.topic for send in world.log.sent} == {JOBS, FRONTIER}
    assert [send.headers for send in world.log.sent] == [(("request-id", b"abc-1"),)] * len(world.log.sent)


async def test_a_bug_has_the_id_of_its_request_too() -> None:
    world = World()
    world.store.items["broken"] = {}
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    with capture_logs():
        async with world.client(**{"x-request-id": "abc-1"}) as client:
            answer = await client.get("/v1/jobs/j/items")

    assert (answer.headers["x-request-id"], answer.json()["request_id"]) == ("abc-1", "abc-1")
    assert "abc-1" in answer.json()["detail"]


async def test_a_key_that_asks_too_often_is_told_when_to_come_back() -> None:
    async with World(KEYS | {"ODRADEK_API_RATE": "2"}).client(**{"x-api-key": KEY}) as client:
        answers = [await client.get("/v1/jobs") for _ in range(6)]

    assert [answer.status_code for answer in answers][:4] == [200] * 4
    assert same(answers[-1], 429, "Too many requests")
    assert int(answers[-1].headers["retry-after"]) >= 1


async def test_without_keys_nobody_is_counted() -> None:
    async with World({"ODRADEK_API_RATE": "1"}).client() as client:
        assert {(await client.get("/v1/jobs")).status_code for _ in range(5)} == {200}


def test_a_bucket_fills_as_time_goes_by() -> None:
    rates = Rates(per_s=2.0)
    burst = [rates.wait_s("a", 0.0) for _ in range(5)]

    assert burst == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert rates.wait_s("b", 0.0) == 0.0
    assert (rates.wait_s("a", 0.5), rates.wait_s("a", 0.5)) == (0.0, 0.5)
    assert [rates.wait_s("a", 1000.0) for _ in range(5)] == burst


async def test_a_body_above_the_limit_is_refused_whether_it_says_its_size_or_not() -> None:
    async def pieces() -> Any:
        yield b'["' + b"a" * 600
        yield b"a" * 600 + b'"]'

    headers = {"content-type": "application/json"}
    async with World({"ODRADEK_API_MAX_BODY": "1KB"}).client() as client:
        announced = await client.post("/v1/jobs", content=b'["' + b"a" * 1200 + b'"]', headers=headers)
        silent = await client.post("/v1/jobs", content=pieces(), headers=headers)

    assert same(announced, 413, "Too large")
    assert same(silent, 413, "Too large")


async def test_a_stream_of_seeds_has_a_limit_of_its_own_and_what_came_before_it_is_taken() -> None:
    world = World({"ODRADEK_API_MAX_BODY": "1KB", "ODRADEK_API_MAX_SEEDS": "100KB"})
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    line = b"https://a.example/%06d\n"

    async def pieces() -> Any:
        for start in range(0, 10_000, 1000):
            yield b"".join(line % number for number in range(start, start + 1000))

    async with world.client() as client:
        answer = await client.post("/v1/jobs/j/seeds", content=pieces(), headers={"content-type": "text/plain"})

    assert same(answer, 413, "Too large")
    assert len(world.log.facts(Discovered)) == 4000
    assert world.gateway.records.get("j").seeding == ()


@pytest.mark.parametrize(
    ("place", "mode", "status"),
    [
        ("cross-site", "no-cors", 403), ("same-site", "no-cors", 403), ("cross-site", "cors", 403),
        ("cross-site", "navigate", 200), ("same-origin", "cors", 200), ("none", "navigate", 200),
    ],
)  # fmt: skip
async def test_a_page_of_another_origin_may_link_and_no_more(place: str, mode: str, status: int) -> None:
    async with World().client() as client:
        answer = await client.get("/v1/jobs", headers={"sec-fetch-site": place, "sec-fetch-mode": mode})

    assert answer.status_code == status
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
