"""What nobody sends by mistake: it is refused with a sentence, and costs the good lines beside it nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from tests.component.api.fakes import World

from odradek.contracts import Discovered, JobRecord
from odradek.specification import MAX_META_BYTES
from odradek_api.answering import DuplexResponse
from odradek_api.app import create_app
from odradek_api.core.lines import NDJSON
from odradek_api.core.seeds import SeedLine
from odradek_api.routes.seeds import verdict_lines
from odradek_api.security import Door

DIGITS = "9" * 5000
"""More than Python makes a number of."""
GOOD = b"https://a.example/\n"


@pytest.fixture
def world() -> World:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={"seeds": [{"url": "https://a.example/"}]}, created_at_ms=1)
    return world


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


async def seeded(world: World, body: bytes, kind: str) -> dict[str, Any]:
    async with world.client() as client:
        answer = await client.post("/v1/jobs/j/seeds", content=body, headers={"content-type": kind})
    assert answer.status_code == 202
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("path", [f"/v1/jobs?cursor={DIGITS}.j", f"/v1/jobs/j/urls?cursor={DIGITS}."])
async def test_a_cursor_of_thousands_of_digits_is_no_cursor(world: World, path: str) -> None:
    async with world.client() as client:
        answer = await client.get(path)

    assert (answer.status_code, answer.json()["title"]) == (400, "No such cursor")


@pytest.mark.parametrize(
    "line",
    [
        nested(30_000),
        b'{"url": "https://a.example/x", "meta": {"a": ' + nested(60) + b"}}",
        b'{"url": "https://a.example/x", "depth": 9223372036854775807}',
        b'{"url": "https://a.example/x", "priority": ' + DIGITS.encode() + b"}",
        b'"https://a.example/\\r\\nhttps://b.example/"',
        b'"https://a.exam\\tple/"',
    ],
)
async def test_a_line_that_cannot_be_read_is_refused_alone(world: World, line: bytes) -> None:
    found = await seeded(
        world, b'"https://a.example/1"\n' + line + b'\n"https://a.example/2"\n', "application/x-ndjson"
    )

    assert (found["received"], [(each["line"], each["reason"]) for each in found["rejected"]]) == (
        2,
        [(2, "malformed")],
    )
    sent = {fact.url for _, fact in world.log.facts(Discovered)}  # type: ignore[union-attr]
    assert sent == {"https://a.example/1", "https://a.example/2"}


async def test_a_seed_with_more_meta_than_a_line_may_have_is_too_long_in_a_json_list_too(world: World) -> None:
    large = {"url": "https://a.example/x", "meta": {"a": "x" * MAX_META_BYTES}}

    found = await seeded(world, msgspec.json.encode([large, "https://a.example/"]), "application/json")

    assert (found["received"], found["rejected"]) == (
        1,
        [{"line": 1, "url": "https://a.example/x", "reason": "too_long"}],
    )


async def test_lines_that_end_as_on_an_old_mac_are_not_taken_for_one_url(world: World) -> None:
    found = await seeded(world, b"https://a.example/\rhttps://b.example/\r", "text/plain")

    assert (found["received"], found["rejected_total"]) == (0, 1)


async def test_a_line_that_is_no_utf_8_is_refused_alone(world: World) -> None:
    found = await seeded(world, "https://a.example/\u00e9\n".encode("latin-1") + GOOD, "text/plain")

    assert (found["received"], [(each["line"], each["reason"]) for each in found["rejected"]]) == (
        1,
        [(1, "malformed")],
    )


@pytest.mark.parametrize(
    "headers",
    [{"content-type": "text/plain; charset=iso-8859-1"}, {"content-type": "text/plain", "content-encoding": "gzip"}],
)
async def test_a_body_in_another_coding_is_refused_whole(world: World, headers: dict[str, str]) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs/j/seeds", content=GOOD, headers=headers)

    assert answer.status_code == 415
    assert world.log.sent == []


async def test_a_csv_row_whose_quote_never_closes_is_refused(world: World) -> None:
    found = await seeded(world, b'url,priority\n"https://a.example/,5\n' + GOOD, "text/csv")

    assert (found["received"], [each["line"] for each in found["rejected"]]) == (1, [2])


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("meta", b'"meta": {"a": ' + nested(300) + b"}"),
        ("meta", b'"meta": {"a": "' + b"x" * 70_000 + b'"}'),
        ("expires", b'"expires": "99999999999d"'),
        ("politeness.delay", b'"politeness": {"delay": "999999999d"}'),
        ("scope.max_pages", b'"scope": {"max_pages": 99999999999999999999}'),
        ("scope.max_depth", b'"scope": {"max_depth": 99999999999999999999}'),
        ("webhooks", b'"webhooks": [' + b'"https://h.example/",' * 100 + b'"https://h.example/"]'),
        ("seeds.0.depth", b'"seeds": [{"url": "https://a.example/", "depth": 9223372036854775807}]'),
        ("seeds.0.meta", b'"seeds": [{"url": "https://a.example/", "meta": {"a": ' + nested(300) + b"}}]"),
    ],
)
async def test_what_a_job_cannot_be_is_named(world: World, field: str, body: bytes) -> None:
    async with world.client() as client:
        answer = await client.post("/v1/jobs", content=b"{" + body + b"}", headers={"content-type": "application/json"})

    assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (422, [field])
    assert world.log.sent == []


async def test_a_change_that_nests_without_end_is_refused(world: World) -> None:
    body = b'{"meta": ' + b'{"a": ' * 900 + b"1" + b"}" * 900 + b"}"
    async with world.client() as client:
        answer = await client.patch("/v1/jobs/j", content=body, headers={"content-type": "application/json"})

    assert answer.status_code in (400, 422)
    assert world.log.sent == []


async def test_a_job_larger_than_a_message_is_refused_before_anything_is_sent(world: World) -> None:
    seeds = [f"https://a.example/{number}/{'x' * 2000}" for number in range(7000)]
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json={"seeds": seeds})

    assert answer.status_code == 413
    assert "/seeds" in answer.json()["detail"]
    assert world.log.sent == []


@pytest.mark.parametrize("delay", ["999999999d", 10**12])
async def test_a_host_is_not_slowed_down_beyond_what_an_instant_can_hold(world: World, delay: Any) -> None:
    async with world.client() as client:
        answer = await client.put("/v1/hosts/a.example", json={"delay": delay})

    assert answer.status_code == 422


async def test_a_reason_is_a_word(world: World) -> None:
    async with world.client() as client:
        answer = await client.post(f"/v1/jobs/j/retry-failed?reason={'x' * 1000}")

    assert answer.status_code == 422


def scope_of(path: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    known = [(b"host", b"127.0.0.1"), (b"content-type", b"text/plain"), (b"transfer-encoding", b"chunked")]
    return {
        "type": "http", "method": "POST", "path": path, "query_string": b"", "root_path": "",
        "headers": [*known, *headers],
    }  # fmt: skip


async def test_a_body_that_does_not_go_on_is_given_up_and_its_job_waits_no_longer(world: World) -> None:
    pieces = [{"type": "http.request", "body": GOOD, "more_body": True}]

    async def receive() -> dict[str, Any]:
        if not pieces:
            await asyncio.Event().wait()
        return pieces.pop()

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    parts = world.parts()
    door = Door(create_app(parts), world.settings, parts.tickets, idle_s=0.01)
    await door(scope_of("/v1/jobs/j/seeds"), receive, send)

    assert sent[0]["status"] == 408
    assert world.gateway.records.get("j").seeding == ()


async def test_a_client_that_sends_and_never_reads_is_let_go(world: World) -> None:
    async def chunks() -> AsyncIterator[Any]:
        while True:
            yield [(1, SeedLine("https://a.example/"))]

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    response = DuplexResponse(verdict_lines(world.gateway.seeding, "j", chunks(), None), 202, NDJSON, unread_s=0.01)
    with capture_logs() as logs:
        await response(scope_of("/v1/jobs/j/seeds"), receive, send)

    assert [entry["event"] for entry in logs] == ["client_does_not_read"]
    assert world.gateway.records.get("j").seeding == ()


async def test_a_password_in_a_url_is_quoted_by_no_answer(world: World) -> None:
    url = "https://user:word@a.example/"
    async with world.client() as client:
        answers = [
            await client.post("/v1/jobs", json={"seeds": [url]}),
            await client.post("/v1/jobs", json={"seeds": [GOOD.decode()], "fetch": {"proxies": ["ftp://u:word@p:1"]}}),
            await client.get("/v1/explain", params={"job": "j", "url": url}),
            await client.post("/v1/jobs/j/seeds", content=url, headers={"content-type": "text/plain"}),
        ]

    assert [answer.status_code for answer in answers] == [422, 422, 200, 202]
    assert not any("word@" in answer.text for answer in answers)
