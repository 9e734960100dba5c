"""A job's activity for charts: totals over time, latencies, and the hosts it fetches from."""

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Request

from odradek.clock import now_ms
from odradek_api import models
from odradek_api.core.activity import (
    history_body,
    history_of,
    hosts_body,
    hosts_of,
    interval_s,
    latency_body,
    latency_of,
)
from odradek_api.core.problems import Problem
from odradek_api.core.trends import TOTALS, from_histogram
from odradek_api.openapi import errors
from odradek_api.parts import Parts, parts
from odradek_api.routes.jobs import JobId

router = APIRouter(prefix="/v1/jobs", tags=["activity"])


@router.get("/{job}/trend", response_model=models.Trend, responses=errors(404, 503))
async def trend(request: Request, job: JobId) -> dict[str, Any]:
    """Running totals over the job's life, in at most 240 points.

    They come from the partitions' reports for what ran since this gateway was started, else from the crawl events,
    which know only tries: there a URL that failed twice counts twice.
    """
    given = parts(request)
    record = given.gateway.records.get(job)
    points = given.paces.trend(job)
    if points is not None:
        return {"source": "reports", "columns": ["at_ms", *TOTALS], "points": points}
    standing = given.gateway.standing(job)
    ended_ms = standing.reached.at_ms if standing.reached is not None else now_ms()
    every_s = interval_s(max(0, ended_ms - record.created_at_ms))
    answer = await asyncio.to_thread(given.results.search, history_body(job, every_s))
    points = from_histogram(history_of(answer), every_s * 1000)
    return {"source": "events", "columns": ["at_ms", *TOTALS], "points": points}


@router.get("/{job}/latency", response_model=models.Latency, responses=errors(404, 503))
async def latency(request: Request, job: JobId) -> dict[str, Any]:
    """How long the newest 1,000 fetches of a job took: percentiles, and how they changed."""
    given = parts(request)
    given.gateway.records.get(job)
    return latency_of(await asyncio.to_thread(given.results.search, latency_body(job)))


@router.get("/{job}/hosts", response_model=models.JobHosts, responses=errors(404, 503))
async def job_hosts(request: Request, job: JobId) -> dict[str, Any]:
    """The 200 hosts a job fetched most from: its tries there, and what the fleet knows of them."""
    given = parts(request)
    given.gateway.records.get(job)
    every, failed = await asyncio.gather(
        asyncio.to_thread(given.results.search, hosts_body(job)),
        asyncio.to_thread(given.results.search, hosts_body(job, failed=True)),
    )
    failures = hosts_of(failed)
    data = [
        {"key": key, "tries": tries, "failed_tries": failures.get(key, 0), "host": _known(given, key)}
        for key, tries in hosts_of(every).items()
    ]
    return {"data": data}


def _known(given: Parts, key: str) -> dict[str, Any] | None:
    try:
        return msgspec.structs.asdict(given.hosts.get(key))
    except Problem:
        return None
