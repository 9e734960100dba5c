"""Whatever is sent to whatever route: an answer of the API document in every detail, and never a bug.

Schemathesis makes requests from the document, fitting and unfitting ones. A quick version runs in the suite;
`ODRADEK_ANYTHING=200` tries so many of each kind for every operation.
"""

import asyncio
import os
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from structlog.testing import capture_logs
from tests.component.api.fakes import World, a_letter, an_item

from odradek.contracts import HostReport, JobRecord
from odradek_api.app import create_app

EXAMPLES = int(os.environ.get("ODRADEK_ANYTHING", "4"))
STREAMS = "/events"
"""What ends in this never ends."""
ODD = st.sampled_from(
    [
        "",
        "j",
        "-1",
        "0",
        "1.x",
        "true",
        "5s",
        "jsonl",
        "9" * 40,
        "{}",
        "2026-13-41",
        "*:*",
        "[",
        "\x00",
        "%00",
        "../x",
        "\ud7ff",
    ]
) | st.text(max_size=20)
"""Where unfitting parameters are meant; Schemathesis takes minutes to find an unfitting query."""
KNOWN = {"job": "j", "host": "a.example"}
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance,
]  # fmt: skip


def a_world() -> World:
    """With one of everything in it."""
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={"seeds": [{"url": "https://a.example/"}]}, created_at_ms=1)
    world.reports.values["a.example"] = HostReport(key="a.example")
    world.store.items["j:0001"] = an_item("j", 1)
    world.store.dead["odradek.scheduled-1-7"] = a_letter()
    world.owners.bodies = lambda partition, question: {
        "urls": [], "after": None, "recount": {"offset": 1}, "patterns": [], "more": False,
    }  # fmt: skip
    return world


SCHEMA = schemathesis.openapi.from_dict(create_app(World().parts()).openapi())
OPERATIONS = [
    operation
    for operation in (found.ok() for found in SCHEMA.get_all_operations())
    if not operation.path.endswith(STREAMS)
]


async def sent(case: Any) -> httpx.Response:
    kwargs = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
    known = ("method", "url", "headers", "params", "data", "json", "files", "cookies")
    prepared = requests.Request(**{name: kwargs[name] for name in known if name in kwargs}).prepare()
    transport = httpx.ASGITransport(create_app(a_world().parts()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        headers = {name: value for name, value in prepared.headers.items() if name.lower() != "content-length"}
        return await client.request(prepared.method, prepared.url, headers=headers, content=prepared.body or b"")


FITTING, UNFITTING = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


TRIED = [(each, FITTING) for each in OPERATIONS] + [(each, UNFITTING) for each in OPERATIONS if each.body]


@pytest.mark.parametrize(("operation", "mode"), TRIED, ids=[f"{o.method} {o.path} {m}" for o, m in TRIED])
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(data=st.data())
def test_an_answer_is_one_that_the_document_promises(operation: Any, mode: GenerationMode, data: st.DataObject) -> None:
    case = data.draw(operation.as_strategy(generation_mode=mode))
    for name in set(KNOWN) & set(case.path_parameters or {}):
        if data.draw(st.booleans()):
            case.path_parameters[name] = KNOWN[name]
    for parameter in operation.iter_parameters():
        if parameter.location == "query" and data.draw(st.booleans()):
            case.query = {**(case.query or {}), parameter.name: data.draw(ODD)}
    with capture_logs() as logs:
        answer = asyncio.run(sent(case))

    assert answer.status_code != 500, logs
    if answer.status_code not in (404, 405):  # a generated path may be another route's, or none
        case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400 and not operation.path.startswith("/compat"):
        assert {"title", "status", "detail", "instance", "request_id"} <= set(answer.json())
