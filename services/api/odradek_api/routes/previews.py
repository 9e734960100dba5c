"""What a job's rules find on one page, before there is a job."""

from typing import Any

from fastapi import APIRouter, Request

from odradek_api import models
from odradek_api.bodies import model_body, specification
from odradek_api.openapi import body_of, errors
from odradek_api.parts import parts

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.post(
    "/preview",
    response_model=models.Preview,
    openapi_extra=body_of("PreviewRequest"),
    responses=errors(400, 413, 415, 422, 429, 504),
)
async def preview(request: Request) -> dict[str, Any]:
    """Fetch one page as the job would, and show what each rule finds and why a field is empty; nothing is stored.

    A page is kept for five minutes, so that changing a rule does not ask the site again. robots.txt is not asked: a
    person looks at one page. Plugins and secrets are not used.
    """
    wanted = await model_body(request, models.PreviewRequest)
    spec = specification({"seeds": [wanted.url]} | wanted.job if not wanted.job.get("seeds") else wanted.job)
    return await parts(request).previews.look(wanted.url, spec.to_wire())
