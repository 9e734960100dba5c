"""Webhooks of a job: what was told to whom, and what came of it."""

from typing import Any

import msgspec
from fastapi import APIRouter, Request

from odradek.contracts import WebhookDelivery
from odradek.specification import redacted_url
from odradek_api import models
from odradek_api.openapi import errors
from odradek_api.parts import parts
from odradek_api.routes.jobs import JobId

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get("/{job}/webhooks", response_model=models.Deliveries, responses=errors(404))
async def webhooks(request: Request, job: JobId) -> dict[str, Any]:
    """Deliveries of a job's changes to its webhooks, newest first: the last 50, with their attempts."""
    given = parts(request)
    given.gateway.records.get(job)
    return {"data": [_shown(each) for each in given.deliveries.of(job)], "next_cursor": None}


def _shown(delivery: WebhookDelivery) -> dict[str, Any]:
    fields = msgspec.structs.asdict(delivery)
    attempts = [msgspec.structs.asdict(each) for each in delivery.attempts]
    return fields | {"url": redacted_url(delivery.url), "attempts": attempts, "signed": delivery.secret is not None}
