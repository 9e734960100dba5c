"""Results: items, in pages or whole."""

import asyncio
import time
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import StreamingResponse

from odradek.clock import now_ms
from odradek.errors import UserError
from odradek.exporting import TABLES
from odradek.stores import ItemFilter
from odradek_api import models
from odradek_api.core.problems import Problem, no_such_cursor
from odradek_api.core.queries import instant_ms
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import Cursor, JobId
from odradek_api.tickets import VALID_S

router = APIRouter(prefix="/v1/jobs", tags=["results"])

FORMATS = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8; header=present",
    "parquet": "application/vnd.apache.parquet",
}
Format: TypeAlias = Literal["jsonl", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that are given must hold."""

    type: Annotated[str | None, Query(description="Only items of this type.")] = None
    run: Annotated[int | None, Query(ge=1, description="Only items that this run saw last.")] = None
    change: Annotated[
        Literal["new", "changed", "unchanged", "gone"] | None, Query(description="What that run made of them.")
    ] = None
    since: Annotated[str | None, Query(description="Last seen since: ISO 8601, or 15m for 15 minutes ago.")] = None

    def filter(self) -> ItemFilter:
        """For the store; raises Problem 422."""
        since_ms = None if self.since is None else instant_ms("since", self.since, now_ms())
        return ItemFilter(type=self.type, run=self.run, change=self.change, since_ms=since_ms)


@router.get("/{job}/items", response_model=models.Listed, responses=errors(400, 404, 422, 503))
async def items(
    request: Request,
    job: JobId,
    wanted: Annotated[Wanted, Depends()],
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Items of a job in the order of their ids; a cursor stays valid while items come."""
    given = parts(request)
    given.gateway.records.get(job)
    if cursor is not None and not cursor.startswith(f"{job}:"):
        raise no_such_cursor(cursor)
    found = await asyncio.to_thread(given.results.items_after, job, cursor, limit, wanted.filter())
    return {"data": found, "next_cursor": found[-1]["_id"] if len(found) == limit else None}


@router.get("/{job}/items/count", response_model=models.ItemCount, responses=errors(404, 422, 503))
async def count(request: Request, job: JobId, wanted: Annotated[Wanted, Depends()]) -> dict[str, Any]:
    """Count the items that are stored, afresh: what the ledger says of them, from the other side."""
    given = parts(request)
    given.gateway.records.get(job)
    return {"total": await asyncio.to_thread(given.results.count_items, job, wanted.filter())}


@router.get(
    "/{job}/export",
    response_class=StreamingResponse,
    responses=errors(404, 422, 501, 503)
    | {200: {"content": {kind: {"schema": {"type": "string"}} for kind in FORMATS.values()}}},
)
async def export(
    request: Request,
    job: JobId,
    wanted: Annotated[Wanted, Depends()],
    format: Annotated[Format, Query()] = "jsonl",  # noqa: A002  (the name users type)
) -> StreamingResponse:
    """Stream every item, also before the job has ended."""
    given = parts(request)
    given.gateway.records.get(job)
    lines = given.results.export_lines(job, wanted.filter())
    rows = iter(lines) if format == "jsonl" else TABLES[format](lines)
    # The first piece before the status: a store that is away is a 503, not a file cut short.
    try:
        first = await asyncio.to_thread(next, rows, b"")
    except UserError as error:
        raise Problem(501, "No Parquet", str(error)) from None
    headers = {"Content-Disposition": f'attachment; filename="{job}.{format}"'}
    return StreamingResponse(chain([first], rows), media_type=FORMATS[format], headers=headers)


@router.post("/{job}/export-link", status_code=201, response_model=models.ExportLink, responses=errors(404, 422))
async def export_link(
    request: Request,
    job: JobId,
    wanted: Annotated[Wanted, Depends()],
    format: Annotated[Format, Query()] = "jsonl",  # noqa: A002  (the name users type)
) -> dict[str, Any]:
    """Make an address of the export that needs no key, for a browser: this export alone, once, within a minute.

    Only the gateway that made it knows it.
    """
    given = parts(request)
    given.gateway.records.get(job)
    wanted.filter()
    asked = {"format": format} | {
        name: value for name in wanted.__slots__ if (value := getattr(wanted, name)) is not None
    }
    path = request.scope["path"].removesuffix("-link")
    query = given.tickets.give(path, urlencode(asked), request.state.owner, time.monotonic())
    return {"href": f"{quote(path)}?{query}", "expires_at_ms": now_ms() + round(VALID_S * 1000)}


@router.get("/{job}/changes", response_model=models.Changes, responses=errors(400, 404, 422, 503))
async def changes(
    request: Request,
    job: JobId,
    since: Annotated[str | None, Query(description="ISO 8601, or 15m for 15 minutes ago")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Items that are new, changed or gone since an earlier run, as they were told; kept for 7 days.

    There is always a next cursor: ask again with it to hear what came since. `at_end`: there was no more now.
    """
    given = parts(request)
    given.gateway.records.get(job)
    since_ms = None if since is None else instant_ms("since", since, now_ms())
    return await asyncio.to_thread(given.changes.after, job, since_ms, cursor, limit)
