"""Reading the pages of a job again with newer rules, without a request to any site."""

from typing import Any

from fastapi import APIRouter, Request

from odradek_api.bodies import json_body, specification
from odradek_api.core.patching import changed_specification
from odradek_api.core.problems import Problem
from odradek_api.openapi import RULES_BODY, errors
from odradek_api.parts import parts
from odradek_api.reparsing import ReparseStanding
from odradek_api.routes.jobs import JobId

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post(
    "/{job}/reparse",
    status_code=202,
    response_model=ReparseStanding,
    openapi_extra=RULES_BODY,
    responses=errors(400, 404, 413, 415, 422, 503),
)
async def reparse(request: Request, job: JobId) -> dict[str, Any]:
    """Read all pages of a job again that Kafka still holds (7 days), with its rules of now: no site hears of it.

    A body `{"extract": […]}` changes the job's rules first. Items are replaced in place; one that no rule gives any
    more stays as it was. The ledger does not change. Asked again meanwhile, it begins anew with the newest rules.
    """
    given = parts(request)
    record = given.gateway.records.get(job)
    spec = None
    if _has_body(request):
        change = await json_body(request)
        if not isinstance(change, dict) or set(change) - {"extract"}:
            raise Problem(422, "Not rules", 'Send {"extract": […]}, or no body to use the rules the job has.')
        spec = specification(changed_specification(record.spec, change)).to_wire()
    await given.reparsing.ask(job, spec)
    return await given.reparsing.standing(job)


@router.get("/{job}/reparse", response_model=ReparseStanding, responses=errors(404, 503))
async def reparse_standing(request: Request, job: JobId) -> dict[str, Any]:
    """How far the newest reparse of a job is."""
    return await parts(request).reparsing.standing(job)


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
