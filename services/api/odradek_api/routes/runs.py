"""Runs of recurring jobs: what became of them, when the next one is, and how fresh the items are."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from odradek.clock import now_ms
from odradek.units import duration_s
from odradek_api import models
from odradek_api.core.problems import wrong_fields
from odradek_api.core.runs import runs_shown
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import JobId, shown
from odradek_api.running import ask_run

router = APIRouter(prefix="/v1/jobs", tags=["runs"])


@router.get("/{job}/runs", response_model=models.Runs, responses=errors(404))
async def runs(request: Request, job: JobId) -> dict[str, Any]:
    """The runs of a recurring job with their figures, when the next one begins, and whether it will be in time."""
    return runs_shown(parts(request).gateway.standing(job).reports)


@router.post("/{job}/runs", status_code=202, response_model=models.Job, responses=errors(404, 409, 503))
async def begin_run(request: Request, job: JobId) -> dict[str, Any]:
    """Begin the next run of a recurring job now, without waiting until it is due; `every` counts from it."""
    given = parts(request)
    return shown(given, await ask_run(given.gateway, job))


@router.get("/{job}/freshness", response_model=models.Freshness, responses=errors(404, 422, 503))
async def freshness(
    request: Request,
    job: JobId,
    within: Annotated[str, Query(description="Items seen within this time are fresh, such as 24h.")] = "24h",
) -> dict[str, Any]:
    """The share of a job's items that were seen of late, the oldest ones, and the same for each host."""
    given = parts(request)
    given.gateway.records.get(job)
    try:
        within_s = duration_s(within)
    except ValueError as error:
        raise wrong_fields([{"field": "within", "message": str(error)}]) from None
    return await asyncio.to_thread(given.results.freshness, job, within_s, now_ms())
