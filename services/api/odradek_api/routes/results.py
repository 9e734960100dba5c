"""Results: items, in pages or whole."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from odradek_api import models
from odradek_api.core.problems import Problem
from odradek_api.exporting import csv_rows, parquet_pieces
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.ports import Results
from odradek_api.routes.jobs import Cursor, JobId

router = APIRouter(prefix="/v1/jobs", tags=["results"])

FORMATS: dict[str, tuple[str, Callable[[Results, str], Iterator[bytes]]]] = {
    "jsonl": ("application/x-ndjson", lambda results, job: results.export_lines(job)),
    "csv": ("text/csv", lambda results, job: csv_rows(results.export(job))),
    "parquet": ("application/vnd.apache.parquet", lambda results, job: parquet_pieces(results.export(job))),
}


@router.get("/{job}/items", response_model=models.Listed, responses=errors(400, 404, 422, 503))
async def items(
    request: Request,
    job: JobId,
    type: Annotated[str | None, Query(description="Only items of this type.")] = None,  # noqa: A002  (the name users type)
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Items of a job in the order of their ids; a cursor stays valid while items come."""
    given = parts(request)
    given.gateway.records.get(job)
    if cursor is not None and not cursor.startswith(f"{job}:"):
        raise Problem(400, "No such cursor", f"The cursor {cursor!r} is not from this list; start again without it.")
    found = await asyncio.to_thread(given.results.items_after, job, cursor, limit, type)
    return {"data": found, "next_cursor": found[-1]["_id"] if len(found) == limit else None}


@router.get(
    "/{job}/export",
    response_class=StreamingResponse,
    responses=errors(404, 422, 501, 503)
    | {200: {"content": {kind: {"schema": {"type": "string"}} for kind, _ in FORMATS.values()}}},
)
async def export(
    request: Request,
    job: JobId,
    format: Annotated[Literal["jsonl", "csv", "parquet"], Query()] = "jsonl",  # noqa: A002  (the name users type)
) -> StreamingResponse:
    """Stream every item, also before the job has ended."""
    given = parts(request)
    given.gateway.records.get(job)
    kind, pieces = FORMATS[format]
    rows = pieces(given.results, job)
    # The first piece before the status: a store that is away is a 503, not a file cut short.
    first = await asyncio.to_thread(next, rows, b"")
    headers = {"Content-Disposition": f'attachment; filename="{job}.{format}"'}
    return StreamingResponse(chain([first], rows), media_type=kind, headers=headers)
