"""Crawl events in the fields of the Elastic Common Schema. Topic `logs`.

The document id is deterministic, so a redelivered message changes nothing (rule P).
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
import xxhash

from odradek.contracts.codec import Message
from odradek.contracts.fetching import Timings


class Ecs(Message, frozen=True, omit_defaults=False):
    """`ecs.*`."""

    version: str = "8.17.0"


class EcsEvent(Message, frozen=True, omit_defaults=False):
    """`event.*`: what happened; `duration` in nanoseconds as the schema wants."""

    id: str
    action: str
    """fetch, parse, skip, fail, dead_letter, job, gap, …"""
    outcome: str = "unknown"
    """success, failure or unknown, as the schema wants; the crawl's own outcome is `odradek.outcome`."""
    reason: str | None = None
    duration: int | None = None
    dataset: str = "odradek.crawl"
    kind: str = "event"


class EcsUrl(Message, frozen=True):
    """`url.*`."""

    full: str | None = None
    domain: str | None = None


class EcsResponse(Message, frozen=True):
    """`http.response.*`."""

    status_code: int | None = None
    mime_type: str | None = None
    body_bytes: int | None = None


class EcsHttp(Message, frozen=True):
    """`http.*`."""

    response: EcsResponse = EcsResponse()


class EcsError(Message, frozen=True):
    """`error.*`."""

    type: str | None = None
    message: str | None = None


class EcsService(Message, frozen=True):
    """`service.*`."""

    name: str


class EcsLog(Message, frozen=True, omit_defaults=False):
    """`log.*`."""

    level: str = "info"


class OdradekFields(Message, frozen=True):
    """`odradek.*`: what the schema has no field for."""

    job_id: str
    run: int = 1
    attempt: int = msgspec.field(default=0, name="try")
    fingerprint: str | None = None
    host_key: str | None = None
    depth: int | None = None
    outcome: str | None = None
    via: str | None = None
    remote_address: str | None = None
    protocol: str | None = None
    tls_verified: bool | None = None
    timings: Timings | None = None
    items: int | None = None
    links: int | None = None
    retry_in_ms: int | None = None
    meta: dict[str, Any] | None = None


class LogEvent(Message, frozen=True, omit_defaults=False):
    """One crawl event, key job id + fingerprint."""

    timestamp: str = msgspec.field(name="@timestamp")
    """ISO 8601, UTC, milliseconds."""
    event: EcsEvent
    service: EcsService
    odradek: OdradekFields
    message: str = ""
    """One sentence for a person."""
    url: EcsUrl = EcsUrl()
    http: EcsHttp | None = None
    error: EcsError | None = None
    log: EcsLog = EcsLog()
    labels: dict[str, str] = {}
    ecs: Ecs = Ecs()


def timestamp(at_ms: int) -> str:
    """An instant as events write it: ISO 8601, UTC, milliseconds."""
    second, ms = divmod(at_ms, 1000)
    return f"{_second(second)}.{ms:03d}Z"


@lru_cache(maxsize=64)
def _second(at_s: int) -> str:
    """Events come by the hundred a second."""
    return datetime.fromtimestamp(at_s, UTC).isoformat()[:19]


def event_id(job: str, run: int, fingerprint: str, attempt: int, action: str) -> str:
    """The identity of an event: the same fact told twice is one document."""
    return xxhash.xxh3_128_hexdigest(f"{job}\0{run}\0{fingerprint}\0{attempt}\0{action}".encode())
