"""Scrapy Cluster's REST service, answered from jobs: its clients move by changing an address."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from odradek.errors import InfrastructureAway
from odradek_api import models
from odradek_api.bodies import json_body
from odradek_api.core.problems import Problem
from odradek_api.core.scrapy_cluster import asked_in
from odradek_api.openapi import errors, one_of
from odradek_api.parts import parts
from odradek_api.scrapy_cluster import ScrapyCluster

router = APIRouter(prefix="/compat/scrapy-cluster", tags=["Scrapy Cluster"])
EXAMPLE = {"appid": "testapp", "crawlid": "abc1234", "url": "https://books.example/", "maxdepth": 1}
FEED_BODY = one_of("CrawlAsked", "ActionAsked", "StatsAsked", "DomainAsked", example=EXAMPLE)
POLL_BODY = one_of("PollAsked", example={"poll_id": "someuuid"})
WRAPPED: dict[int | str, dict[str, Any]] = {status: {"model": models.Fed} for status in (400, 404, 500)}


def _wrapped(data: Any = None, message: str | None = None, cause: str | None = None) -> dict[str, Any]:
    error = None if message is None else {"message": message} | ({} if cause is None else {"cause": cause})
    return {"status": "SUCCESS" if error is None else "FAILURE", "data": data, "error": error}


def _service(request: Request) -> ScrapyCluster:
    found = getattr(request.app.state, "scrapy_cluster", None)
    if found is None:
        found = request.app.state.scrapy_cluster = ScrapyCluster(parts(request))
    return found


@router.post("/feed", response_model=models.Fed, openapi_extra=FEED_BODY, responses=errors(413, 415) | WRAPPED)
async def feed(request: Request) -> JSONResponse:
    """Crawl, stop, info, stats and ZooKeeper requests of Scrapy Cluster 1.2, with its replies.

    A crawl request that is answered with SUCCESS is in Kafka; one that cannot be crawled is a FAILURE that says why.
    """
    service = _service(request)
    try:
        asked = asked_in(await json_body(request))
        if isinstance(asked, str):
            service.refused()
            return JSONResponse(_wrapped(None, "JSON did not validate against schema.", asked), 400)
        return JSONResponse(_wrapped(await service.answer(asked, request.state.owner)))
    except InfrastructureAway as error:
        return JSONResponse(_wrapped(None, "Unable to connect to Kafka", str(error)), 500)
    except Problem as problem:
        status = 500 if problem.status >= 500 else 400  # noqa: PLR2004  (servers' errors begin there)
        return JSONResponse(_wrapped(None, problem.title, problem.detail), status)


@router.post("/poll", response_model=models.Fed, openapi_extra=POLL_BODY, responses=errors(413, 415) | WRAPPED)
async def poll(request: Request) -> JSONResponse:
    """Every reply comes with its request, so there is never one to poll for."""
    del request
    return JSONResponse(_wrapped(None, "Could not find matching poll_id"), 404)


@router.get("/", response_model=models.FeedState, responses=errors())
@router.post("/", response_model=models.FeedState, responses=errors(415), operation_id="feed_state_by_post")
async def index(request: Request) -> dict[str, Any]:
    """State of the service, in Scrapy Cluster's words; where it says Redis, the gateway's own memory is meant."""
    return _service(request).index()
