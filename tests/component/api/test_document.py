"""The API document is complete, and answers are what it says."""

from typing import Any

import pytest
from tests.component.api.fakes import World

from odradek_api.app import create_app


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(World().parts()).openapi()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, op) for path, methods in document["paths"].items() for method, op in methods.items()]


def test_every_route_says_what_it_does_and_what_it_answers(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert operation.get("description"), f"{method} {path}"
        assert all(answer.get("content") or path == "/metrics" for answer in good), f"{method} {path}"


def test_every_error_of_a_route_is_a_problem_document(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        if path.startswith("/v1"):
            bad = {status: answer for status, answer in operation["responses"].items() if status[0] in "45"}
            assert {"401", "403", "503"} <= set(bad), f"{method} {path}"
            assert all(list(answer["content"]) == ["application/problem+json"] for answer in bad.values()), bad


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    known = document["components"]["schemas"]

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                assert value["$ref"].removeprefix("#/components/schemas/") in known, value["$ref"]
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(document)


def test_bodies_have_a_schema_and_jobs_an_example_that_is_accepted(document: dict[str, Any]) -> None:
    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]

    assert body["schema"] == {"$ref": "#/components/schemas/JobSpecification"}
    assert set(document["components"]["schemas"]["JobSpecification"]["properties"]) >= {"seeds", "scope", "extract"}


async def test_the_example_in_the_document_can_be_submitted_as_it_stands(document: dict[str, Any]) -> None:
    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    async with World().client() as client:
        answer = await client.post("/v1/jobs", json=body["example"])

    assert answer.status_code == 201, answer.text


async def test_the_documents_are_served() -> None:
    async with World().client() as client:
        assert (await client.get("/openapi.json")).status_code == 200
        page = await client.get("/docs")
    assert (page.status_code, page.headers["location"]) == (307, "./#/documents")


def test_every_parameter_says_what_it_is_and_every_body_has_an_example(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for path, method, operation in operations(document):
        nameless = [each["name"] for each in operation.get("parameters", ()) if not each.get("description")]
        assert nameless == [], f"{method} {path}"
        for content in operation.get("requestBody", {}).get("content", {}).values():
            model = schemas.get(content["schema"].get("$ref", "").rpartition("/")[2], {})
            shown = [each for each in model.get("properties", {}).values() if "examples" in each]
            assert "example" in content or shown, f"{method} {path}"
