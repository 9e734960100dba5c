"""All jobs as they change, in one stream: a browser may hold only few connections to a host.

All jobs are gone through once a second for everybody, and a page of the list is made once for those who look at it.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from odradek.contracts import JobState
from odradek_api.core.problems import Problem
from odradek_api.openapi import errors
from odradek_api.parts import Parts, parts
from odradek_api.routes.jobs import KEEP_ALIVE_S, shown

LOOK_EVERY_S = 1.0
RATES = 30

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses=errors(422) | {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    state: Annotated[JobState | None, Query(description="Only jobs in this state.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Part of the id or name.")] = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> StreamingResponse:
    """Server-Sent Events: `jobs` with one page of the list, newest first, and again whenever something in it changes.

    Its data: {order: ids, changed: [jobs], total, counts: {state: jobs}}; a job here also has `rates`, its pages a
    second over the last readings.
    """
    stream = _pages(request, parts(request), _Wanted(state, (q or "").lower(), offset, limit))
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A page of the list."""

    state: JobState | None
    q: str
    offset: int
    limit: int

    def of(self, given: Parts) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """{order, total, counts} and the jobs on it."""
        everything = given.census.get("all", given.gateway.census, time.monotonic())
        census = everything.named(self.q) if self.q else everything
        found = [record for record, state in census.jobs if self.state in (None, state)]
        page = found[self.offset : self.offset + self.limit]
        jobs: dict[str, dict[str, Any]] = {}
        for each in page:
            with suppress(Problem):  # it went since all were looked at
                jobs[each.job] = shown(given, each) | {"rates": given.paces.rates(each.job, RATES)}
        return {"order": list(jobs), "total": len(found), "counts": census.counts}, jobs


async def _pages(request: Request, given: Parts, wanted: _Wanted) -> AsyncIterator[str]:
    frame: dict[str, Any] = {}
    known: dict[str, dict[str, Any]] = {}
    said_s = time.monotonic()
    while not await request.is_disconnected():
        now, jobs = given.job_lists.get(wanted, lambda: wanted.of(given), time.monotonic())
        changed = [job for name, job in jobs.items() if known.get(name) != job]
        if changed or now != frame:
            frame, known, said_s = now, jobs, time.monotonic()
            yield f"event: jobs\ndata: {json.dumps(now | {'changed': changed})}\n\n"
        elif time.monotonic() - said_s > KEEP_ALIVE_S:
            said_s = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_EVERY_S)
