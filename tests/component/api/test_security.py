"""What an attacker tries on the gateway, beyond who may ask (test_door.py)."""

import base64
import hashlib
import io
import json
import logging
import re
import sys
import time
from typing import Any

import pytest
from tests.component.api.fakes import World

from odradek.contracts import JobRecord, encode
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_api.app import create_app

KEY = "correct-horse"
KEYS = {"ODRADEK_API_KEYS": f"alice:{hashlib.sha256(KEY.encode()).hexdigest()}"}


def routes(world: World) -> list[tuple[str, str]]:
    """Method and path of everything that can be asked, variables filled."""
    paths = create_app(world.parts()).openapi()["paths"]
    return [(method.upper(), re.sub(r"{[^}]*}", "x", path)) for path, methods in paths.items() for method in methods]


async def test_every_route_wants_a_key_but_those_that_are_the_same_for_everybody() -> None:
    world = World(KEYS)
    async with world.client() as client:
        answers = {
            (method, path): (await client.request(method, path, json={} if method != "GET" else None)).status_code
            for method, path in routes(world)
        }

    assert {path for (_, path), status in answers.items() if status != 401} == {"/health/live", "/health/ready"}
    assert len(answers) > 30
    assert world.log.sent == []


DETOURS = (
    "/console/../v1/jobs", "/console/%2e%2e/v1/jobs", "/console/..%2fv1/jobs", "//v1/jobs", "/v1/jobs/", "/V1/JOBS",
    "/docs/../v1/jobs", "/health/live/../../v1/jobs", "/v1/jobs;a=b", "/v1/jobs%00", "/./v1/jobs", "/v1/jobs?key=x",
    "/openapi.json/../v1/jobs", "/console//v1/jobs", "/v1/jobs%3f", "/console/\\..\\v1\\jobs",
)  # fmt: skip


async def test_no_spelling_of_a_path_leads_past_the_key() -> None:
    world = World(KEYS)
    world.jobs.values["secret-job"] = JobRecord(job="secret-job", spec={})
    async with world.client(**{"content-type": "application/json"}) as client:
        for path in DETOURS:
            for method in ("GET", "HEAD", "OPTIONS", "POST", "TRACE"):
                answer = await client.request(method, path)
                assert answer.status_code in (401, 404, 405), (method, path)
                assert "secret-job" not in answer.text


async def test_no_other_header_stands_for_a_key() -> None:
    async with World(KEYS).client() as client:
        for header in ("x-forwarded-for", "x-original-url", "x-rewrite-url", "authorization", "cookie"):
            assert (await client.get("/v1/jobs", headers={header: KEY})).status_code == 401


@pytest.mark.parametrize(
    "name", ['a"\r\nX-Evil: 1', "../../etc/passwd", "é\0;rm -rf /", '"; filename="x.html', "${env:HOME}"]
)
async def test_a_jobs_name_becomes_neither_a_header_nor_a_path(name: str) -> None:
    world = World()
    async with world.client() as client:
        job = (await client.post("/v1/jobs", json={"name": name, "seeds": ["https://a.example/"]})).json()["job_id"]
        export = await client.get(f"/v1/jobs/{job}/export")

    assert re.fullmatch(r"[a-z0-9-]{1,60}", job)
    assert export.headers["content-disposition"] == f'attachment; filename="{job}.jsonl"'
    assert "x-evil" not in export.headers


@pytest.mark.parametrize("job", ["..%2f..%2fetc%2fpasswd", "a%0d%0aX-Evil:%201", "%00", "..", "j%22%0d%0a"])
async def test_an_export_is_of_a_job_that_exists_and_of_no_file(job: str) -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    async with world.client() as client:
        answers = [await client.get(f"/v1/jobs/{job}/{what}") for what in ("export", "items", "audit")]

    assert {answer.status_code for answer in answers} <= {404, 405}
    assert all("x-evil" not in answer.headers for answer in answers)


@pytest.mark.parametrize("asked", ["a\r\nX-Evil: 1", "a" * 300, "é", "a;b", ""])
async def test_a_request_id_that_could_forge_a_header_or_a_line_is_replaced(asked: str) -> None:
    async with World().client() as client:
        answer = await client.get("/v1/jobs", headers={"x-request-id": asked.encode()})

    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])
    assert "x-evil" not in answer.headers


async def test_what_is_logged_of_a_request_stays_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written, before = io.StringIO(), logging.getLogger().handlers
    monkeypatch.setattr(sys, "stderr", written)
    configure_logs(Settings.read({}), "api")
    try:
        world = World()
        world.store.items["broken"] = {}
        evil = 'j\n{"level": "error", "event": "forged"}'
        world.jobs.values[evil] = JobRecord(job=evil, spec={})
        async with world.client() as client:
            answer = await client.get(
                "/v1/jobs/j%0a%7b%22level%22:%20%22error%22,%20%22event%22:%20%22forged%22%7d/items"
            )
    finally:
        logging.getLogger().handlers = before

    assert answer.status_code == 500
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert "request_crashed" in {line["event"] for line in lines}
    assert "forged" not in {line["event"] for line in lines}


async def test_a_regular_expression_that_explodes_elsewhere_is_linear_here() -> None:
    async with World().client() as client:
        begun = time.process_time()
        for pattern in ("(a+)+$", "(a|a)*b", "(.*a){25}", "((a*)*)*c", "(x+x+)+y"):
            scope = {"include": [pattern], "exclude": [pattern]}
            answer = await client.post("/v1/jobs", json={"seeds": [f"https://a.example/{'a' * 1900}!"], "scope": scope})
            assert answer.status_code in (201, 422)
        assert time.process_time() - begun < 4


REFUSED_RULES: tuple[dict[str, Any], ...] = (
    {"regex": "(?=a)b", "css": "a"}, {"regex": r"(a)\1", "css": "a"}, {"regex": "a{100000}", "css": "a"},
    {"xpath": "document('file:///etc/passwd')//x["}, {"xpath": "a" * 100_000}, {"css": ":not(" * 5_000},
    {"json": "[" * 100_000},
)  # fmt: skip


async def test_a_rule_that_could_hang_is_refused_by_name() -> None:
    async with World().client() as client:
        for rule in REFUSED_RULES:
            extract = [{"type": "t", "fields": {"f": rule}}]
            answer = await client.post("/v1/jobs", json={"seeds": ["https://a.example/"], "extract": extract})
            assert answer.status_code == 422, str(rule)[:80]
            assert answer.json()["errors"][0]["field"].startswith("extract.0.fields.f")


async def test_items_go_to_no_collection_that_is_somebody_elses() -> None:
    async with World().client() as client:
        for collection in ("dead_letters", "system.users", "a.b", "$cmd", "../items", "a\0b", "A" * 200, ""):
            job = {"seeds": ["https://a.example/"], "items": {"collection": collection}}
            answer = await client.post("/v1/jobs", json=job)
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "items.collection")


BOMBS = (
    b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"seeds": [' + b"[" * 100_000, b'"' + b"\\ud800" * 1000 + b'"',
    b'{"meta": ' + b'{"a":' * 900 + b"1" + b"}" * 901, b"\xff\xfe", b"1e999999999", b"9" * 100_000,
    b'{"seeds": ["https://a.example/"], "__proto__": {}, "$where": "sleep(1)"}', b'{"a": 1, "a": 2}',
)  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/dead-letters/replay", "/compat/scrapy-cluster/feed"])
async def test_a_body_that_is_a_bomb_is_a_problem_at_once(path: str) -> None:
    world = World()
    async with world.client(**{"content-type": "application/json"}) as client:
        begun = time.process_time()
        for body in BOMBS:
            answer = await client.post(path, content=body)
            assert 400 <= answer.status_code < 500, body[:80]
        assert time.process_time() - begun < 4
    assert world.log.sent == []


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/logs", "/v1/jobs/j/items", "/v1/jobs/j/changes", "/v1/jobs/j/urls"])
async def test_a_cursor_that_somebody_made_up_is_never_a_bug(path: str) -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    nested = base64.urlsafe_b64encode(b"[" * 4_000).decode()
    async with world.client() as client:
        for cursor in ("A" * 5000, nested, "IiI", "bnVsbA", "eyJhIjoxfQ", "%00", "é", "-1"):
            answer = await client.get(path, params={"cursor": cursor, "state": "failed"})
            assert answer.status_code < 500, cursor


async def test_a_filter_is_text_and_no_question_to_the_store() -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    async with world.client() as client:
        answers = [
            await client.get(f"/v1/jobs/j/items?{query}")
            for query in ("type[$ne]=x", "type=%7B%22$ne%22:1%7D", "run[$gt]=0", "change=$ne")
        ]

    assert all(answer.status_code in (200, 422) for answer in answers)
    assert all(answer.json().get("data", []) == [] for answer in answers)


async def test_a_secret_in_the_environment_gets_into_no_message_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_TOKEN", "hunter2")
    world = World()
    fetch = {"auth": {"bearer": "${env:SITE_TOKEN}"}, "headers": {"X-Api-Key": "${env:SITE_TOKEN}"}}
    job = {
        "seeds": ["https://a.example/"],
        "fetch": fetch,
        "webhooks": [{"url": "https://b.example/", "secret": "${env:SITE_TOKEN}"}],
    }
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json=job)
        shown = await client.get(f"/v1/jobs/{answer.json()['job_id']}/specification")

    assert answer.status_code == 201
    said = [send.value or b"" for send in world.log.sent] + [encode(record) for record in world.log.records()]
    assert any(b"${env:SITE_TOKEN}" in each for each in said)
    assert not any(b"hunter2" in each for each in [*said, answer.content, shown.content])


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1.evil.example:8000", "http://localhost:8000", "https://127.0.0.1:8001", "file://"]
)
async def test_a_page_that_a_browser_shows_may_neither_ask_nor_listen(origin: str) -> None:
    """Whatever it sends, it is refused, and no answer carries a word that would let it read one."""
    async with World().client(origin=origin, **{"access-control-request-method": "DELETE"}) as client:
        answers = [
            await client.request(method, path)
            for method in ("GET", "OPTIONS", "DELETE", "POST")
            for path in ("/v1/jobs", "/v1/jobs/j", "/v1/jobs/j/events", "/metrics", "/health/ready")
        ]

    assert {answer.status_code for answer in answers} == {403}
    assert not any(name.startswith("access-control-") for answer in answers for name in answer.headers)


async def test_a_page_of_another_site_cannot_show_the_console_in_a_frame() -> None:
    async with World().client() as client:
        headers = (await client.get("/")).headers

    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"https?:|unsafe-eval|unsafe-inline|\*", policy)
    assert headers["x-content-type-options"] == "nosniff"
