"""Whatever is sent to whatever route: an answer of the API document, and never a bug."""

import asyncio
import re
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.component.api.fakes import World, a_letter, an_item

from odradek.contracts import HostReport, JobRecord
from odradek_api.app import create_app

DOCUMENT = create_app(World().parts()).openapi()
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if path.startswith("/v1") and not path.endswith("/events")  # a stream without end
]

WORDS = st.sampled_from(
    ["j", "", "running", "failed", "https://a.example/", "j:0001", "0.", "1.x", "jsonl", "-1", "10", "true", "5s",
     "pause", "a.example", "\u0000", "\ud7ff", "%00", "../x", "9" * 40, "{}", "2026-01-31", "*:*"]
) | st.text(max_size=20)  # fmt: skip
NAMES = ["seeds", "scope", "max_pages", "url", "priority", "fetch", "extract", "name", "meta", "delay", "ids", "job",
         "politeness", "schedule", "expires", "headers", "css", "fields", "type", "webhooks", "blocked"]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def a_world() -> World:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={"seeds": [{"url": "https://a.example/"}]}, created_at_ms=1)
    world.reports.values["a.example"] = HostReport(key="a.example")
    world.store.items["j:0001"] = an_item("j", 1)
    world.store.dead["odradek.scheduled-1-7"] = a_letter()
    world.owners.bodies = lambda partition, question: {"urls": [], "after": None, "recount": {"offset": 1}}
    return world


async def asked(path: str, method: str, operation: dict[str, Any], draw: Any) -> httpx.Response:
    places = st.just("j") | st.just("a.example") | WORDS
    given_path = re.sub(r"\{\w+\}", lambda _: quote(draw(places), safe="") or "j", path)
    query = {
        p["name"]: draw(WORDS) for p in operation.get("parameters", ()) if p["in"] == "query" and draw(st.booleans())
    }
    content, kinds = None, list(operation.get("requestBody", {}).get("content", {}))
    headers = {}
    if kinds:
        headers["content-type"] = kind = draw(st.sampled_from(kinds))
        content = msgspec.json.encode(draw(JSON.filter(_encodable)))
        if not kind.endswith("json"):
            content += draw(st.binary(max_size=20))
    transport = httpx.ASGITransport(application(method, path), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers) as client:
        return await client.request(method, given_path, params=query, content=content)


@cache
def application(method: str, path: str) -> FastAPI:
    return create_app(a_world().parts())


def _encodable(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return False
    return True


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_an_answer_is_one_that_the_document_promises(
    path: str, method: str, operation: dict[str, Any], data: st.DataObject
) -> None:
    with capture_logs() as logs:
        answer = asyncio.run(asked(path, method, operation, data.draw))

    assert answer.status_code != 500, logs
    if str(answer.request.url.path).count("/") == path.count("/"):
        promised = operation["responses"]
        assert str(answer.status_code) in promised or answer.status_code in (404, 405), answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"title", "status", "detail", "instance"} <= set(answer.json())
