"""The FastAPI application over the gateway's parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from odradek.errors import InfrastructureAway
from odradek_api import models
from odradek_api.answering import document_response
from odradek_api.core.problems import Problem
from odradek_api.openapi import DESCRIPTION, document
from odradek_api.parts import Parts
from odradek_api.routes import (
    activity,
    compat,
    console,
    frontier,
    jobs,
    letters,
    live,
    logs,
    previews,
    quarantine,
    reparse,
    results,
    runs,
    seeds,
    webhooks,
)
from odradek_api.security import Door
from odradek_api.tracing import REQUEST_ID

log = structlog.get_logger()
ROUTERS = (
    console,
    compat,
    seeds,
    reparse,
    quarantine,
    webhooks,
    results,
    runs,
    jobs,
    frontier,
    activity,
    live,
    logs,
    letters,
    previews,
)
"""In this order: a path with a word comes before one with a variable in the same place."""


def create_app(given: Parts) -> FastAPI:
    """The application; everything it needs is given."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001  (FastAPI's signature)
        pacing = asyncio.create_task(given.paces.keep(given.gateway, given.ready))
        yield
        pacing.cancel()
        with suppress(asyncio.CancelledError):
            await pacing
        await given.previews.close()

    app = FastAPI(
        title="Odradek",
        summary="A Kafka-native web crawler that accounts for every URL.",
        description=DESCRIPTION,
        version="1",
        lifespan=lifespan,
        # The library's pages load their scripts from another host, which could then read the console's key.
        docs_url=None,
        redoc_url=None,
    )
    app.state.parts = given
    app.add_middleware(Door, settings=given.settings, tickets=given.tickets)
    _problems(app)
    for module in ROUTERS:
        app.include_router(module.router)
    _health(app, given)
    app.openapi = document(app)  # type: ignore[method-assign]  # as FastAPI's documentation says
    return app


def _health(app: FastAPI, given: Parts) -> None:
    @app.get("/health/live", tags=["health"], response_model=models.Health)
    async def live() -> dict[str, str]:
        """The process runs."""
        return {"status": "ok"}

    @app.get("/health/ready", tags=["health"], response_model=models.Health, responses={503: {"model": models.Health}})
    async def is_ready() -> JSONResponse:
        """The views are read: answers are true."""
        problem = given.ready()
        status = {"status": "ok" if problem is None else "waiting", "detail": problem}
        return JSONResponse(status, 200 if problem is None else 503)

    @app.get("/metrics", tags=["health"], response_class=Response)
    async def metrics() -> Response:
        """Prometheus metrics."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _problems(app: FastAPI) -> None:
    def answer(request: Request, problem: Problem) -> Response:
        return document_response(request.url.path, problem)

    @app.exception_handler(Problem)
    async def problem(request: Request, error: Any) -> Response:
        return answer(request, error)

    @app.exception_handler(InfrastructureAway)
    async def away(request: Request, error: Any) -> Response:
        return answer(request, Problem(503, "Kafka is away", f"Kafka does not take this now: {error}. Try again."))

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: Any) -> Response:  # noqa: ARG001  (the library's signature)
        log.info("client_gone", path=request.url.path)
        return answer(request, Problem(400, "Cut off", "The body did not arrive whole."))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Any) -> Response:
        unknown = error.status_code == HTTPStatus.NOT_FOUND
        detail = f"{request.method} {request.url.path} is no route; see /docs." if unknown else str(error.detail)
        response = answer(request, Problem(error.status_code, "Not possible", detail))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(RequestValidationError)
    async def validation(request: Request, error: Any) -> Response:
        fields = [{"field": ".".join(map(str, e["loc"][1:])), "message": e["msg"]} for e in error.errors()]
        detail = f"{fields[0]['field']}: {fields[0]['message']}"
        return answer(request, Problem(422, "Wrong parameter", detail, errors=fields))

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Any) -> Response:
        log.error("request_crashed", path=request.url.path, exc_info=error)
        detail = f"This should not happen; it is logged as request {REQUEST_ID.get()}."
        return answer(request, Problem(500, "A bug", detail))
