"""Patterns of URLs that are held back as traps, and letting them go on."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from odradek.contracts import JobRecord
from odradek.shapes import MAX_SHAPE
from odradek_api import models
from odradek_api.bodies import model_body
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import JobId, shown

router = APIRouter(prefix="/v1/jobs", tags=["frontier"])

_RELEASE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["pattern"],
                    "properties": {"pattern": {"type": "string", "minLength": 1, "maxLength": MAX_SHAPE}},
                },
                "example": {"pattern": "shop.example/list/{n}?page"},
            }
        },
    }
}


class TrapPattern(models.Shape):
    """A pattern of URLs of one job."""

    key: str
    """Politeness key of its host."""
    pattern: str
    """Host, path with numbers and identifiers replaced, names of query parameters; or a URL that stands for itself."""
    pages: int
    """Read so far."""
    new_share: float | None
    """Of its last pages, the share that showed something new; null: none was read."""
    trapped: int
    """URLs skipped as traps."""
    released: bool
    """A person lets it go on."""
    quarantined: str | None
    """Why its URLs are held back now, in one sentence; null: they are not."""


class Quarantine(models.Shape):
    """Patterns in quarantine, released ones, and those with URLs skipped as traps."""

    data: list[TrapPattern]
    next_cursor: str | None = None
    """Always null: there is one page, the longest ones first."""
    silent: list[int]
    """Partitions that did not answer within 2 s; what they know is missing."""
    more: bool
    """There are more than were asked for."""


class ReleaseRequest(BaseModel):
    """Which pattern is to go on."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(min_length=1, max_length=MAX_SHAPE)


def _record(request: Request, job: str) -> JobRecord:
    return parts(request).gateway.records.get(job)


@router.get("/{job}/quarantine", response_model=Quarantine, responses=errors(404, 422, 503))
async def quarantine(request: Request, job: JobId, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> dict[str, Any]:
    """What is held back as a trap, and why; most URLs first."""
    return await parts(request).inquiry.quarantine(_record(request, job), limit)


@router.post(
    "/{job}/quarantine/release",
    status_code=202,
    response_model=models.Job,
    openapi_extra=_RELEASE_BODY,
    responses=errors(400, 404, 409, 413, 415, 422),
)
async def release(request: Request, job: JobId) -> dict[str, Any]:
    """Let a pattern go on: its URLs that were skipped as traps are open again, and none is skipped in this run.

    A finished job is open again.
    """
    given = parts(request)
    _record(request, job)
    wanted = await model_body(request, ReleaseRequest)
    return shown(given, await given.gateway.release(job, wanted.pattern))
