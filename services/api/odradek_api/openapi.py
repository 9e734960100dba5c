"""The API document: bodies from the models that validate them, problem documents, the key, and examples."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from odradek.specification import JobSpecification
from odradek_api import models
from odradek_api.core.scrapy_cluster import ActionAsked, CrawlAsked, DomainAsked, StatsAsked

REF = "#/components/schemas/{model}"
EXAMPLE_JOB = {
    "name": "books",
    "seeds": ["https://books.example/"],
    "scope": {"max_pages": 1000},
    "extract": [
        {
            "type": "book",
            "each": "article.product",
            "key": ["sku"],
            "fields": {
                "sku": {"css": "&", "attr": "data-sku", "required": True},
                "price": {"css": ".price", "type": "decimal"},
            },
        }
    ],
}
READ_BY_ROUTES: tuple[type[BaseModel], ...] = (
    JobSpecification, models.Problem, models.HostOverride, models.ReplayRequest, models.PollAsked,
    models.PreviewRequest, models.ReleaseRequest,
    CrawlAsked, ActionAsked, StatsAsked, DomainAsked,
)  # fmt: skip
_ALWAYS = (401, 403, 429)
PARAMETERS = {
    "action": "What to do.",
    "fingerprint": "Only of the URL with this fingerprint, as explain shows it.",
    "format": "JSON lines, CSV, or Parquet where that is installed.",
    "host": "A host, such as books.example; what shares its registered domain shares its delay.",
    "job": "Only of this job.",
    "limit": "At most so many.",
    "offset": "So many come before the page.",
    "reason": "Only with this reason, such as dns, http_404 or robots.",
    "state": "Only in this state.",
    "until": "As since.",
}
"""What parameters of these names mean wherever their route says nothing else."""
DESCRIPTION = """Submit a job, watch it, find out why a URL failed, take the items.

Errors are problem documents (RFC 9457) whose `detail` says what to do. Lists are `{data, next_cursor}`.
"""


def _content(schema: dict[str, Any], example: Any = None, *kinds: str, required: bool = True) -> dict[str, Any]:
    medium = {"schema": schema} | ({} if example is None else {"example": example})
    return {"requestBody": {"required": required, "content": dict.fromkeys(kinds or ("application/json",), medium)}}


def body_of(model: str, example: Any = None) -> dict[str, Any]:
    """A JSON body of this model, for `openapi_extra`."""
    return _content({"$ref": REF.format(model=model)}, example)


def one_of(*names: str, example: Any) -> dict[str, Any]:
    """A JSON body of one of these models, for `openapi_extra`."""
    kinds = [{"$ref": REF.format(model=name)} for name in names]
    return _content({"anyOf": kinds} if len(kinds) > 1 else kinds[0], example)


JOB_BODY = body_of("JobSpecification", EXAMPLE_JOB)
PATCH_BODY = _content(
    {"type": "object"}, {"scope": {"max_pages": 5000}}, "application/json", "application/merge-patch+json"
)
RULES_BODY = _content(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {"extract": {"type": ["array", "null"], "items": {"type": "object"}}},
    },
    {"extract": [{"type": "book", "each": "article", "fields": {"title": {"css": "h3"}}}]},
    required=False,
)
_TEXT = {"type": "string"}
SEEDS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "array", "items": {"anyOf": [_TEXT, {"type": "object"}]}},
                "example": ["https://books.example/", {"url": "https://books.example/new", "priority": 90}],
            },
            "text/plain": {"schema": _TEXT, "example": "https://books.example/\nhttps://books.example/new\n"},
            "application/x-ndjson": {"schema": _TEXT, "example": '{"url": "https://books.example/"}\n'},
            "text/csv": {"schema": _TEXT, "example": "url,priority\nhttps://books.example/,90\n"},
        },
    }
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem documents of these statuses, for `responses`."""
    problem = {"application/problem+json": {"schema": {"$ref": REF.format(model="Problem")}}}
    slow = (408,) if 415 in statuses else ()  # noqa: PLR2004  (where there is a body)
    every = (*_ALWAYS, *slow, *statuses, 503)
    return {status: {"description": HTTPStatus(status).phrase, "content": problem} for status in every}


def document(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """FastAPI's document, with the models of bodies that the routes read themselves, and the key."""
    generate = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = generate()
            components = found.setdefault("components", {})
            schemas = components.setdefault("schemas", {})
            for model in READ_BY_ROUTES:
                schema = model.model_json_schema(ref_template=REF)
                schemas.update(schema.pop("$defs", {}))
                schemas[model.__name__] = schema
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            for operation in (each for methods in found["paths"].values() for each in methods.values()):
                for parameter in operation.get("parameters", ()):
                    if parameter["name"] in PARAMETERS:
                        parameter.setdefault("description", PARAMETERS[parameter["name"]])
                if "422" in operation["responses"]:
                    operation["responses"]["422"] = errors(422)[422]
            components["securitySchemes"] = {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
            found["security"] = [{"key": []}, {}]
            app.openapi_schema = found
        return app.openapi_schema

    return completed
