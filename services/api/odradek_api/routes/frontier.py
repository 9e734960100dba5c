"""What the frontier knows: a job's URLs, why one was or was not fetched, and the hosts."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request

from odradek.contracts import ledger_run
from odradek_api import models
from odradek_api.bodies import model_body
from odradek_api.openapi import body_of, errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import Cursor, JobId

router = APIRouter(prefix="/v1", tags=["frontier"])
UrlState = Literal["pending", "fetched", "not_modified", "redirected", "skipped", "failed"]


@router.get("/jobs/{job}/urls", response_model=models.Listed, responses=errors(400, 404, 422, 503))
async def urls(
    request: Request,
    job: JobId,
    state: UrlState | None = None,
    reason: str | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    kind: Annotated[Literal["page", "sitemap"], Query(description="Its pages, or the sitemaps that feed it.")] = "page",
) -> dict[str, Any]:
    """A job's URLs by state and reason, asked of the partitions that own them."""
    given = parts(request)
    record = given.gateway.records.get(job)
    kept = msgspec.structs.replace(record, run=ledger_run(record.run, kind))
    return await given.inquiry.urls(kept, state, reason, cursor, limit)


@router.get("/explain", response_model=models.Explanation, responses=errors(404, 422, 503))
async def explain(
    request: Request,
    job: Annotated[str, Query(description="Id of a job.")],
    url: Annotated[str, Query(description="Any URL, known to the job or not.", max_length=10_000)],
) -> dict[str, Any]:
    """Why a URL was or would be fetched, skipped or refused by a job."""
    given = parts(request)
    return await given.inquiry.explain(given.gateway.records.get(job), url)


@router.get("/hosts", response_model=models.Hosts, responses=errors(422))
async def hosts(
    request: Request,
    q: Annotated[str | None, Query(description="Part of the name.")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Hosts by name: speed, errors, robots, delay, back-off."""
    found = parts(request).hosts.after(cursor, limit, q)
    shown = [msgspec.structs.asdict(report) for report in found]
    return {"data": shown, "next_cursor": found[-1].key if len(found) == limit else None}


@router.get("/hosts/{host}", response_model=models.Host, responses=errors(404, 422))
async def host_report(request: Request, host: str) -> dict[str, Any]:
    """What is known of one host."""
    return msgspec.structs.asdict(parts(request).hosts.get(host))


@router.put(
    "/hosts/{host}",
    status_code=202,
    response_model=models.HostChanged,
    openapi_extra=body_of("HostOverride"),
    responses=errors(400, 413, 415, 422),
)
async def change_host(request: Request, host: str) -> dict[str, Any]:
    """Override delay and concurrency of a host, block it, or end its back-off; for the whole fleet, at once."""
    wanted = await model_body(request, models.HostOverride)
    key = await parts(request).hosts.change(
        host,
        delay_s=wanted.delay,
        concurrency=wanted.concurrency,
        blocked=wanted.blocked,
        clear_back_off=wanted.clear_back_off,
    )
    return {"key": key}
