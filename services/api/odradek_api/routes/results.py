"""Results: items and crawl events."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from odradek_api.core.queries import events_query
from odradek_api.reading import Reader
from odradek_api.routes.jobs import gateway

router = APIRouter(prefix="/v1", tags=["results"])
CSV_COLUMNS = ("_id", "type", "url", "job_id", "run", "first_seen", "last_seen")


def reader(request: Request) -> Reader:
    """The reader of this process."""
    found: Reader = request.app.state.reader
    return found


@router.get("/jobs/{job}/items")
async def items(
    request: Request, job: str, cursor: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> dict[str, Any]:
    """Items of a job in the order of their ids; the cursor is the last id shown."""
    gateway(request).record(job)
    read = reader(request)
    found = await read(read.items_after, job, cursor, limit)
    return {"data": found, "next_cursor": found[-1]["_id"] if len(found) == limit else None}


@router.get("/jobs/{job}/export")
async def export(
    request: Request,
    job: str,
    format: Literal["jsonl", "csv"] = "jsonl",  # noqa: A002  (the name users type)
) -> StreamingResponse:
    """Stream every item, also before the job has ended."""
    gateway(request).record(job)
    kind = "application/x-ndjson" if format == "jsonl" else "text/csv"
    read = reader(request)
    rows: Iterator[Any] = read.export_lines(job) if format == "jsonl" else csv_rows(read.export(job))
    headers = {"Content-Disposition": f'attachment; filename="{job}.{format}"'}
    return StreamingResponse(rows, media_type=kind, headers=headers)


def csv_rows(lines: Iterator[dict[str, Any]]) -> Iterator[str]:
    """CSV with the identity columns and the whole record as JSON in `data`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([*CSV_COLUMNS, "meta", "data"])
    for line in lines:
        fixed = [line.get(name) for name in CSV_COLUMNS]
        writer.writerow([*fixed, *(json.dumps(line.get(name), ensure_ascii=False) for name in ("meta", "data"))])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


@router.get("/logs")
async def logs(  # noqa: PLR0913, PLR0917  (the filters of the route)
    request: Request,
    q: str | None = None,
    job: str | None = None,
    host: str | None = None,
    status: int | None = None,
    outcome: str | None = None,
    reason: str | None = None,
    action: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
) -> dict[str, Any]:
    """Search crawl events: words in `q` (Lucene syntax) and exact filters; newest first."""
    query = events_query(
        q=q, since=since, until=until, job=job, host=host, status=status, outcome=outcome, reason=reason, action=action
    )
    read = reader(request)
    found = await read(read.events, query, limit)
    return {"data": found["data"], "total": found["total"], "next_cursor": None}
