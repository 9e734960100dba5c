"""Seeds, streamed."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

import msgspec
import structlog
from fastapi import APIRouter, Header, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from odradek.errors import InfrastructureAway
from odradek_api import models
from odradek_api.answering import DuplexResponse
from odradek_api.bodies import seed_chunks
from odradek_api.core.lines import NDJSON
from odradek_api.core.problems import Problem
from odradek_api.core.seeds import Verdicts
from odradek_api.openapi import SEEDS_BODY, errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import JobId
from odradek_api.seeding import Chunks, Seeding

log = structlog.get_logger()
router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post(
    "/{job}/seeds",
    status_code=202,
    response_model=models.SeedVerdicts,
    openapi_extra=SEEDS_BODY,
    responses=errors(400, 404, 409, 413, 415, 422),
)
async def seeds(
    request: Request,
    job: JobId,
    idempotency_key: Annotated[
        str | None, Header(max_length=200, description="A list that came before with this key adds nothing twice.")
    ] = None,
) -> Response:
    """Add seeds: a JSON list, or streamed as text (one URL a line), NDJSON or CSV; any number in one call.

    Lines are counted from 1. What is answered is in Kafka; a URL that the job knows already is counted as a duplicate
    and not fetched again, so the same list can be sent twice. With `Accept: application/x-ndjson` a verdict for every
    line comes as it goes, and the totals in the last line. A finished job is open again.

    With an `Idempotency-Key` a list that was cut off can be sent again, whole: what Kafka has of it is not sent again,
    and the answer is that of the whole list.
    """
    gateway = parts(request).gateway
    gateway.refuse_over(job)
    chunks = await seed_chunks(request)
    if NDJSON in request.headers.get("accept", ""):
        lines = verdict_lines(gateway.seeding, job, chunks, idempotency_key)
        return DuplexResponse(lines, 202, NDJSON)
    return JSONResponse((await gateway.seeding.add(job, chunks, idempotency_key)).answer(), 202)


async def verdict_lines(seeding: Seeding, job: str, chunks: Chunks, key: str | None) -> AsyncIterator[bytes]:
    """A line of JSON for every seed once Kafka has it, and the totals, or the error that cut it off, in the last."""
    verdicts, encode = Verdicts(), msgspec.json.encode
    try:
        async with aclosing(seeding.judged(job, chunks, verdicts, key)) as judged:
            async for told in judged:
                if told:
                    yield b"\n".join([encode(each.shown()) for each in told]) + b"\n"
    except (ClientDisconnect, InfrastructureAway, Problem) as error:
        # The status is out already; a last line without totals says that not everything was taken.
        said = str(error) or "the body did not arrive whole"
        log.info("seeds_cut_off", job=job, received=verdicts.received, error=said)
        yield encode({"error": said}) + b"\n"
        return
    yield encode({"received": verdicts.received, "rejected_total": verdicts.rejected_total}) + b"\n"
