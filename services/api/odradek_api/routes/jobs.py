"""Jobs: submit, list, look at, control."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import ValidationError
from starlette.responses import JSONResponse, StreamingResponse

from odradek.contracts import JobRecord
from odradek.specification import JobSpecification, problems
from odradek_api.core.problems import Problem, wrong_fields
from odradek_api.core.seeds import SeedLine, from_values, read_lines
from odradek_api.core.standing import audit, summary
from odradek_api.gateway import Gateway, cursor_page
from odradek_api.paces import Paces

CHUNK_LINES = 5000
MAX_JSON_BYTES = 32 * 1024 * 1024
FINAL_STATES = ("complete", "failed", "cancelled", "expired")

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


def gateway(request: Request) -> Gateway:
    """The gateway of this process."""
    found: Gateway = request.app.state.gateway
    return found


def _shown(request: Request, record: JobRecord) -> dict[str, Any]:
    standing = gateway(request).standing(record.job)
    paces: Paces = request.app.state.paces
    spec = JobSpecification.from_wire(record.spec)
    return summary(standing) | {
        "name": spec.name,
        "run": record.run,
        "version": record.version,
        "pending": standing.counters.pending,
        "in_flight": standing.in_flight,
        "created_at_ms": record.created_at_ms,
        "reached_at_ms": standing.reached.at_ms if standing.reached is not None else None,
        "max_pages": spec.scope.max_pages,
        **paces.of(record.job, standing),
    }


async def _body(request: Request) -> Any:
    raw = await request.body()
    if len(raw) > MAX_JSON_BYTES:
        raise Problem(413, "Too large", "A JSON body may have 32 MiB; stream longer seed lists as text/plain.")
    try:
        return json.loads(raw)
    except ValueError as error:
        raise Problem(400, "Not JSON", f"The body is not JSON: {error}.") from None


def _specification(values: Any) -> JobSpecification:
    try:
        return JobSpecification.model_validate(values)
    except ValidationError as error:
        raise wrong_fields(problems(error)) from None


@router.post("", status_code=201)
async def submit(request: Request, idempotency_key: Annotated[str | None, Header()] = None) -> JSONResponse:
    """Submit a job. The answer names its id; the crawl has begun when it arrives."""
    spec = _specification(await _body(request))
    record = await gateway(request).submit(spec, idempotency_key=idempotency_key, owner=request.state.owner)
    return JSONResponse(_shown(request, record), 201, headers={"Location": f"/v1/jobs/{record.job}"})


@router.get("")
async def jobs(
    request: Request,
    state: str | None = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """All jobs, newest first; `state` filters."""
    records = gateway(request).records()
    if state is not None:
        records = [each for each in records if gateway(request).standing(each.job).state == state]
    page, following = cursor_page(records, cursor, limit)
    return {"data": [_shown(request, record) for record in page], "next_cursor": following}


@router.get("/{job}")
async def job_standing(request: Request, job: str) -> dict[str, Any]:
    """State, counters, pace and what limits it; answered from counters, whatever the backlog."""
    return _shown(request, gateway(request).record(job))


@router.patch("/{job}")
async def change(request: Request, job: str) -> dict[str, Any]:
    """Change fields of the specification while the job runs; unknown fields are refused by name."""
    record = gateway(request).record(job)
    spec = _specification(_merged(record.spec, await _body(request)))
    return _shown(request, await gateway(request).change(job, spec))


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {name: _merged(old.get(name), value) for name, value in new.items()}
    return new


@router.post("/{job}/{action}")
async def control(
    request: Request, job: str, action: Literal["pause", "resume", "cancel", "retry-failed"], reason: str | None = None
) -> dict[str, Any]:
    """Pause (nothing new within a second), resume, cancel, or open all failed URLs again."""
    if action == "retry-failed":
        return _shown(request, await gateway(request).retry_failed(job, reason))
    wanted = {"pause": "paused", "resume": "running", "cancel": "cancelled"}
    return _shown(request, await gateway(request).want(job, wanted[action]))  # type: ignore[arg-type]  # its values


@router.get("/{job}/audit")
async def ledger(request: Request, job: str) -> dict[str, Any]:
    """The ledger with both sums and the independent count: is every URL accounted for?"""
    return audit(gateway(request).standing(job))


@router.get("/{job}/events")
async def events(request: Request, job: str) -> StreamingResponse:
    """Server-Sent Events: the job's standing whenever it changes, until it is over."""
    gateway(request).record(job)

    async def stream() -> AsyncIterator[str]:
        last = None
        while not await request.is_disconnected():
            shown = _shown(request, gateway(request).record(job))
            if shown != last:
                last = shown
                yield f"event: progress\ndata: {json.dumps(shown)}\n\n"
            if shown["state"] in FINAL_STATES:
                yield f"event: end\ndata: {json.dumps({'state': shown['state']})}\n\n"
                return
            await asyncio.sleep(0.5)

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


seeds_router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@seeds_router.post("/{job}/seeds", status_code=202)
async def seeds(request: Request, job: str) -> JSONResponse:
    """Add seeds: a JSON list, or streamed as text (one a line), NDJSON or CSV; lines are counted from 1."""
    kind = (request.headers.get("content-type") or "text/plain").partition(";")[0].strip().lower()
    chunks = _json_chunks(request) if kind == "application/json" else _line_chunks(request, kind)
    verdicts = await gateway(request).add_seeds(job, chunks)
    return JSONResponse(verdicts.answer(), 202)


async def _json_chunks(request: Request) -> AsyncIterator[Iterable[tuple[int, SeedLine | str]]]:
    values = await _body(request)
    if not isinstance(values, list):
        raise Problem(422, "Not a list", "A JSON body of seeds is a list of URLs or of {url, priority, depth, meta}.")
    yield list(from_values(values))


async def _line_chunks(request: Request, kind: str) -> AsyncIterator[Iterable[tuple[int, SeedLine | str]]]:
    rest, number, lines = b"", 1, list[str]()
    async for piece in request.stream():
        *whole, rest = (rest + piece).split(b"\n")
        lines += [line.decode(errors="replace") for line in whole]
        if len(lines) >= CHUNK_LINES:
            yield list(read_lines(lines, kind, number))
            number, lines = number + len(lines), []
    if rest:
        lines.append(rest.decode(errors="replace"))
    yield list(read_lines(lines, kind, number))
