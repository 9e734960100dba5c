"""Dead letters: list and replay."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from odradek.stores import dead_letter_matches
from odradek_api import models
from odradek_api.bodies import model_body
from odradek_api.core.problems import wrong_fields
from odradek_api.openapi import body_of, errors
from odradek_api.parts import parts
from odradek_api.replaying import shown
from odradek_api.routes.jobs import Cursor

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"])


@router.get("", response_model=models.DeadLetters, responses=errors(422, 503))
async def letters(
    request: Request,
    reason: str | None = None,
    job: str | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """Messages that could not be processed, and malformed records, by id."""
    match = dead_letter_matches(reason=reason, job=job, after=cursor)
    found = await asyncio.to_thread(parts(request).results.letters, match, limit)
    return {"data": [shown(each) for each in found], "next_cursor": found[-1]["_id"] if len(found) == limit else None}


@router.get("/reasons", response_model=models.DeadLetterReasons, responses=errors(422, 503))
async def reasons(request: Request, job: str | None = None) -> dict[str, Any]:
    """Count dead letters by reason."""
    return {"data": await asyncio.to_thread(parts(request).results.letter_reasons, dead_letter_matches(job=job))}


@router.post(
    "/replay",
    response_model=models.Replayed,
    openapi_extra=body_of("ReplayRequest", {"reason": "poison"}),
    responses=errors(400, 413, 415, 422, 503),
)
async def replay(request: Request) -> dict[str, Any]:
    """Send dead letters again, untouched, to the topic they came from; each once.

    The URL of a poisoned page has failed for good by then: open it again with retry-failed?reason=poison.
    """
    wanted = await model_body(request, models.ReplayRequest)
    match = dead_letter_matches(reason=wanted.reason, job=wanted.job)
    if wanted.ids is not None:
        match["_id"] = {"$in": wanted.ids}
    if not match:
        raise wrong_fields([{"field": "(the whole)", "message": "give at least one of ids, reason or job"}])
    return await parts(request).replay.replay(match)
