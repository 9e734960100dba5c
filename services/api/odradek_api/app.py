"""The FastAPI application over a gateway and a reader."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from odradek.errors import InfrastructureAway
from odradek.settings import Settings
from odradek_api.core.problems import Problem
from odradek_api.gateway import Gateway
from odradek_api.paces import Paces
from odradek_api.reading import Reader
from odradek_api.routes import jobs, results
from odradek_api.security import Door

Ready = Callable[[], str | None]


def create_app(settings: Settings, gateway: Gateway, reader: Reader, ready: Ready) -> FastAPI:
    """The application; everything it needs is given."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pacing = asyncio.create_task(app.state.paces.keep(gateway))
        yield
        pacing.cancel()
        with suppress(asyncio.CancelledError):
            await pacing

    app = FastAPI(
        title="Odradek",
        summary="A Kafka-native web crawler that accounts for every URL.",
        version="1",
        lifespan=lifespan,
    )
    app.state.gateway, app.state.reader, app.state.paces = gateway, reader, Paces()
    _problems(app)
    _door(app, Door(settings))
    app.include_router(jobs.seeds_router)
    app.include_router(jobs.router)
    app.include_router(results.router)
    _health(app, ready)
    return app


def _health(app: FastAPI, ready: Ready) -> None:
    @app.get("/health/live", tags=["health"])
    async def live() -> dict[str, str]:
        """The process runs."""
        return {"status": "ok"}

    @app.get("/health/ready", tags=["health"])
    async def is_ready() -> JSONResponse:
        """The views are read: answers are true."""
        problem = ready()
        status = {"status": "ok" if problem is None else "waiting", "detail": problem}
        return JSONResponse(status, 200 if problem is None else 503)

    @app.get("/metrics", tags=["health"])
    async def metrics() -> Response:
        """Prometheus metrics."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _door(app: FastAPI, door: Door) -> None:
    @app.middleware("http")
    async def check(request: Request, following: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            request.state.owner = door.check(request)
        except Problem as problem:
            return _document(request, problem)
        response = await following(request)
        response.headers["X-Request-Id"] = request.headers.get("x-request-id") or uuid.uuid4().hex
        return response


def _document(request: Request, problem: Problem) -> JSONResponse:
    return JSONResponse(problem.document(request.url.path), problem.status, media_type="application/problem+json")


def _problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Any) -> Response:
        return _document(request, error)

    @app.exception_handler(InfrastructureAway)
    async def away(request: Request, error: Any) -> Response:
        return _document(request, Problem(503, "Kafka is away", str(error)))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Any) -> Response:
        unknown = error.status_code == HTTPStatus.NOT_FOUND
        detail = f"{request.method} {request.url.path} is no route; see /docs." if unknown else str(error.detail)
        return _document(request, Problem(error.status_code, "Not possible", detail))

    @app.exception_handler(RequestValidationError)
    async def validation(request: Request, error: Any) -> Response:
        fields = [{"field": ".".join(map(str, e["loc"][1:])), "message": e["msg"]} for e in error.errors()]
        first = fields[0]
        return _document(
            request, Problem(422, "Wrong parameter", f"{first['field']}: {first['message']}", errors=fields)
        )
