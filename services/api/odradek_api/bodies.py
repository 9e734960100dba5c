"""Reading the bodies of requests, never more than is allowed."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar

import msgspec
from fastapi import Request
from pydantic import BaseModel, ValidationError

from odradek.specification import JobSpecification, problems
from odradek_api.core.lines import LineReader, Numbered
from odradek_api.core.problems import Problem, body_too_large, wrong_fields
from odradek_api.core.seeds import from_values
from odradek_api.parts import parts

CHUNK_LINES = 2000

M = TypeVar("M", bound=BaseModel)


async def json_body(request: Request) -> Any:
    """The JSON of a body.

    Raises:
        Problem: 400 for what is no JSON, 413 above `ODRADEK_API_MAX_BODY`.
    """
    most = parts(request).settings.api_max_body
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > most:  # a JSON list of seeds; the door lets streamed lists be longer
            raise body_too_large(most)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "Not JSON", f"The body is not JSON: {error}.") from None


async def model_body(request: Request, model: type[M]) -> M:
    """The body as a model.

    Raises:
        Problem: 422 that names every wrong field; as `json_body`.
    """
    try:
        return model.model_validate(await json_body(request))
    except ValidationError as error:
        known = f"unknown field; known are {', '.join(model.model_fields)}"
        raise wrong_fields(
            [
                {
                    "field": ".".join(map(str, each["loc"])) or "(the whole)",
                    "message": known
                    if each["type"] == "extra_forbidden"
                    else each["msg"].removeprefix("Value error, "),
                }
                for each in error.errors(include_url=False, include_input=False, include_context=False)
            ]
        ) from None


def specification(values: Any) -> JobSpecification:
    """The job specification in these values.

    Raises:
        Problem: 422 that names every wrong field.
    """
    try:
        return JobSpecification.model_validate(values)
    except ValidationError as error:
        raise wrong_fields(problems(error)) from None
    except RecursionError:
        raise Problem(422, "Not a valid job", "The specification is nested too deeply.") from None


async def seed_chunks(request: Request) -> AsyncIterator[Iterable[Numbered]]:
    """Numbered seeds of a body in chunks; a JSON list is read whole before anything is taken from it.

    Raises:
        Problem: 422 for JSON that is no list; as `json_body`.
    """
    kind = (request.headers.get("content-type") or "text/plain").partition(";")[0].strip().lower()
    if kind != "application/json":
        return _line_chunks(request, kind)
    values = await json_body(request)
    if not isinstance(values, list):
        raise Problem(422, "Not a list", "A JSON body of seeds is a list of URLs or of {url, priority, depth, meta}.")
    return _value_chunks(values)


async def _value_chunks(values: list[Any]) -> AsyncIterator[Iterable[Numbered]]:
    numbered = list(from_values(values))
    for start in range(0, len(numbered), CHUNK_LINES):
        yield numbered[start : start + CHUNK_LINES]


async def _line_chunks(request: Request, kind: str) -> AsyncIterator[Iterable[Numbered]]:
    reader, chunk = LineReader(kind), list[Numbered]()
    async for piece in request.stream():
        chunk += reader.feed(piece)
        while len(chunk) >= CHUNK_LINES:
            yield chunk[:CHUNK_LINES]
            chunk = chunk[CHUNK_LINES:]
    chunk += reader.end()
    if chunk:
        yield chunk
