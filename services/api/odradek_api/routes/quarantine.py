"""Patterns of URLs that are held back as traps, and letting them go on."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from odradek.contracts import JobRecord
from odradek_api import models
from odradek_api.bodies import model_body
from odradek_api.openapi import body_of, errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import JobId, shown

router = APIRouter(prefix="/v1/jobs", tags=["frontier"])


def _record(request: Request, job: str) -> JobRecord:
    return parts(request).gateway.records.get(job)


@router.get("/{job}/quarantine", response_model=models.Quarantine, responses=errors(404, 422, 503))
async def quarantine(request: Request, job: JobId, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> dict[str, Any]:
    """What is held back as a trap, and why; most URLs first."""
    return await parts(request).inquiry.quarantine(_record(request, job), limit)


@router.post(
    "/{job}/quarantine/release",
    status_code=202,
    response_model=models.Job,
    openapi_extra=body_of("ReleaseRequest", {"pattern": "shop.example/list/{n}?page"}),
    responses=errors(400, 404, 409, 413, 415, 422),
)
async def release(request: Request, job: JobId) -> dict[str, Any]:
    """Let a pattern go on: its URLs that were skipped as traps are open again, and none is skipped in this run.

    A finished job is open again.
    """
    given = parts(request)
    _record(request, job)
    wanted = await model_body(request, models.ReleaseRequest)
    return shown(given, await given.gateway.release(job, wanted.pattern))
