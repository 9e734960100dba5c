"""Jobs: submit, list, look at, control, purge."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import JSONResponse, StreamingResponse

from odradek.contracts import JobRecord, JobState, Wanted
from odradek.specification import redacted
from odradek_api import models
from odradek_api.bodies import json_body, specification
from odradek_api.core.patching import changed_specification
from odradek_api.core.problems import Problem
from odradek_api.core.runs import plan_of, schedule_shown
from odradek_api.core.standing import Standing, audit, is_over, summary
from odradek_api.gateway import cursor_page
from odradek_api.openapi import JOB_BODY, PATCH_BODY, errors
from odradek_api.parts import Parts, parts

LOOK_EVERY_S = 0.5
KEEP_ALIVE_S = 15.0

JobId = Annotated[str, Path(alias="job", description="Id of the job.", examples=["books-1f2e3d4c"])]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


def shown(given: Parts, record: JobRecord) -> dict[str, Any]:
    """A job as answers show it; costs the same at any backlog, and for any number of seeds in its specification."""
    standing = given.gateway.standing(record.job)
    return summary(standing) | {
        "name": record.spec.get("name"),
        "owner": record.owner,
        "run": standing.record.run,
        "version": record.version,
        "pending": standing.counters.pending,
        "in_flight": standing.in_flight,
        "sitemaps": standing.sitemaps,
        "created_at_ms": record.created_at_ms,
        "reached_at_ms": standing.reached.at_ms if standing.reached is not None else None,
        "max_pages": (record.spec.get("scope") or {}).get("max_pages"),
        **schedule_shown(plan_of(standing.reports)),
        **given.paces.of(record.job, standing),
    }


@router.post(
    "", status_code=201, response_model=models.Job, openapi_extra=JOB_BODY, responses=errors(400, 413, 415, 422)
)
async def submit(
    request: Request,
    idempotency_key: Annotated[
        str | None, Header(max_length=200, description="The same key again gives the same job, and adds nothing.")
    ] = None,
) -> JSONResponse:
    """Submit a job: a specification with seeds, or without (add them later).

    The answer names its id; its seeds are in Kafka when it arrives. A seed that cannot be crawled refuses the whole.
    """
    given = parts(request)
    spec = specification(await json_body(request))
    record = await given.gateway.submit(spec, idempotency_key=idempotency_key, owner=request.state.owner)
    return JSONResponse(shown(given, record), 201, headers={"Location": f"/v1/jobs/{record.job}"})


@router.get("", response_model=models.Jobs, responses=errors(400, 422))
async def jobs(
    request: Request,
    state: Annotated[JobState | None, Query(description="Only jobs in this state.")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """All jobs, newest first. A cursor stays valid while jobs come and go."""
    given = parts(request)
    records = given.gateway.records.all()
    if state is not None:
        records = [each for each in records if given.gateway.state(each) == state]
    page, following = cursor_page(records, cursor, limit)
    return {"data": [shown(given, record) for record in page], "next_cursor": following}


@router.get("/{job}", response_model=models.Job, responses=errors(404))
async def job_standing(request: Request, job: JobId) -> dict[str, Any]:
    """State, counters, pace and what limits it."""
    given = parts(request)
    return shown(given, given.gateway.records.get(job))


@router.get("/{job}/specification", responses=errors(404))
async def job_specification(request: Request, job: JobId) -> dict[str, Any]:
    """What was asked for, as far as it differs from the defaults; secrets are blotted out."""
    return redacted(parts(request).gateway.records.get(job).spec)


@router.patch(
    "/{job}", response_model=models.Job, openapi_extra=PATCH_BODY, responses=errors(400, 404, 409, 413, 415, 422)
)
async def change(request: Request, job: JobId) -> dict[str, Any]:
    """Change the specification while the job runs: a JSON merge patch (null: back to the default).

    Limits, pace, scope and rules can be changed; seeds and what makes a URL's identity cannot.
    """
    given = parts(request)
    record = given.gateway.records.get(job)
    wanted = specification(changed_specification(record.spec, await json_body(request)))
    return shown(given, await given.gateway.change(job, wanted))


@router.delete("/{job}", response_model=models.Purged, responses=errors(404) | {202: {"model": models.Purged}})
async def purge(request: Request, job: JobId) -> JSONResponse:
    """Cancel a job, delete its items and dead letters, and forget it. Crawl events stay until they are too old.

    202 when its last fetches are still on their way after 20 s: it is cancelled; ask again.
    """
    deleted = await parts(request).purge.purge(job)
    answer = {"job_id": job, "purged": deleted is not None, "items_deleted": deleted or 0}
    return JSONResponse(answer, 202 if deleted is None else 200)


@router.post("/{job}/{action}", response_model=models.Job, responses=errors(404, 409, 422))
async def control(
    request: Request,
    job: JobId,
    action: Literal["pause", "resume", "cancel", "retry-failed"],
    reason: Annotated[
        str | None, Query(max_length=100, description="Of retry-failed: only URLs that failed with it.")
    ] = None,
) -> dict[str, Any]:
    """Pause (nothing new within a second), resume, cancel for good, or open all failed URLs again."""
    given = parts(request)
    if action == "retry-failed":
        return shown(given, await given.gateway.retry_failed(job, reason))
    wanted: dict[str, Wanted] = {"pause": "paused", "resume": "running", "cancel": "cancelled"}
    return shown(given, await given.gateway.want(job, wanted[action]))


@router.get("/{job}/audit", response_model=models.Audit, responses=errors(404, 422, 503))
async def ledger(
    request: Request,
    job: JobId,
    recount: Annotated[bool, Query(description="Count afresh now, by going through every URL.")] = False,  # noqa: FBT002  (a query)
) -> dict[str, Any]:
    """The ledger with both sums and the independent count: is every URL accounted for?"""
    given = parts(request)

    def look() -> Standing:
        return given.gateway.standing(job)

    return audit(await given.inquiry.recounted(look) if recount else look())


@router.get(
    "/{job}/events",
    response_class=StreamingResponse,
    responses=errors(404) | {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(request: Request, job: JobId) -> StreamingResponse:
    """Server-Sent Events: `progress` with the job's standing whenever it changes, `end` when it is over.

    The stream of a recurring job goes on from run to run.
    """
    given = parts(request)
    given.gateway.records.get(job)
    stream = _events(request, given, job)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _events(request: Request, given: Parts, job: str) -> AsyncIterator[str]:
    def look(record: JobRecord) -> tuple[JobState | None, str]:
        now = shown(given, record)
        state = now["state"] if is_over(record, now["state"]) else None
        return state, f"event: progress\ndata: {json.dumps(now)}\n\n"

    last, said_s = None, time.monotonic()
    while not await request.is_disconnected():
        try:
            record = given.gateway.records.get(job)
            ended, event = given.watched.get((job, record.version), partial(look, record), time.monotonic())
        except Problem:
            yield 'event: end\ndata: {"state": "purged"}\n\n'
            return
        if event != last:
            last, said_s = event, time.monotonic()
            yield event
        elif time.monotonic() - said_s > KEEP_ALIVE_S:
            said_s = time.monotonic()
            yield ": still here\n\n"
        if ended is not None:
            yield f"event: end\ndata: {json.dumps({'state': ended})}\n\n"
            return
        await asyncio.sleep(LOOK_EVERY_S)
