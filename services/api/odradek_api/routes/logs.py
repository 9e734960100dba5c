"""Crawl events: search and counts."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from odradek.clock import now_ms
from odradek_api import models
from odradek_api.core.cursors import cursor_of
from odradek_api.core.queries import after_cursor, events_query
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import Cursor

router = APIRouter(prefix="/v1/logs", tags=["logs"])


@dataclass(frozen=True, slots=True)
class Filters:
    """All that are given must hold."""

    q: Annotated[str | None, Query(description="Words, or a query in Lucene's syntax.")] = None
    job: str | None = None
    host: Annotated[str | None, Query(description="Host of the URL.")] = None
    status: Annotated[int | None, Query(ge=100, le=999, description="HTTP status.")] = None
    outcome: Annotated[str | None, Query(description="fetched, redirected, skipped, failed, …")] = None
    reason: Annotated[str | None, Query(description="Such as dns, http_404, robots.")] = None
    action: Annotated[str | None, Query(description="fetch, parse, skip, fail, job, dead_letter, …")] = None
    run: Annotated[int | None, Query(ge=1, le=1_000_000_000, description="Of a recurring job, from 1.")] = None
    fingerprint: str | None = None
    since: Annotated[str | None, Query(description="ISO 8601, or 15m for 15 minutes ago.")] = None
    until: str | None = None

    def query(self) -> dict[str, Any]:
        """For Elasticsearch."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return events_query(now_ms(), **fields)


@router.get("", response_model=models.Events, responses=errors(400, 422, 503))
async def logs(
    request: Request,
    filters: Annotated[Filters, Depends()],
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Search crawl events, newest first."""
    found = await asyncio.to_thread(parts(request).results.events, filters.query(), limit, after_cursor(cursor))
    return {"data": found["data"], "total": found["total"], "next_cursor": found["after"] and cursor_of(found["after"])}


@router.get("/facets", response_model=models.Facets, responses=errors(400, 422, 503))
async def facets(request: Request, filters: Annotated[Filters, Depends()]) -> dict[str, Any]:
    """Count crawl events by outcome, status, host, reason, action and minute."""
    found: dict[str, Any] = await asyncio.to_thread(parts(request).results.facets, filters.query())
    return found
