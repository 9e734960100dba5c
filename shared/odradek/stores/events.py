"""Crawl events in Elasticsearch: one data stream, its index template and its lifecycle policy.

The fields are those of the Elastic Common Schema as `odradek.contracts.LogEvent` has them; `_id` is `event.id`.
Kibana finds the stream under the data view `logs-*`.
"""

from typing import Any

LOGS_DATA_STREAM = "logs-odradek.crawl-default"
TEMPLATE = "logs-odradek.crawl"
LIFECYCLE_POLICY = "odradek-crawl"

SHARD_S = 10
"""How long the engine may wait for a shard to write to."""

_PRIORITY = 500
"""Above Elasticsearch's own template for `logs-*-*`, which has 100."""

_KEYWORD = {"type": "keyword", "ignore_above": 1024}
_LONG = {"type": "long"}
_TEXT = {"type": "text", "norms": False}


def _object(**fields: Any) -> dict[str, Any]:
    return {"properties": fields}


_TIMINGS = _object(**{f"{step}_ms": {"type": "float"} for step in ("dns", "connect", "tls", "first_byte", "total")})

EVENT_MAPPINGS: dict[str, Any] = {
    "dynamic": "true",
    "date_detection": False,
    "numeric_detection": False,
    "dynamic_templates": [{"words": {"match_mapping_type": "string", "mapping": _KEYWORD}}],
    "properties": {
        "@timestamp": {"type": "date"},
        "message": _TEXT,
        "ecs": _object(version=_KEYWORD),
        "event": _object(
            id=_KEYWORD, action=_KEYWORD, outcome=_KEYWORD, reason=_KEYWORD, dataset=_KEYWORD, kind=_KEYWORD,
            duration=_LONG,
        ),
        "url": _object(full={"type": "keyword", "ignore_above": 2083}, domain=_KEYWORD),
        "http": _object(
            response=_object(status_code={"type": "short"}, mime_type=_KEYWORD, body_bytes=_LONG),
        ),
        "error": _object(type=_KEYWORD, message=_TEXT),
        "service": _object(name=_KEYWORD),
        "log": _object(level=_KEYWORD),
        "labels": {"type": "object"},
        "odradek": _object(
            job_id=_KEYWORD, run=_LONG, fingerprint=_KEYWORD, host_key=_KEYWORD, outcome=_KEYWORD,
            protocol=_KEYWORD, via={"type": "keyword", "ignore_above": 2083}, remote_address=_KEYWORD,
            tls_verified={"type": "boolean"}, timings=_TIMINGS, depth=_LONG, items=_LONG, links=_LONG,
            retry_in_ms=_LONG, meta={"type": "object", "enabled": False},
            **{"try": _LONG},
        ),
    },
}  # fmt: skip
"""Words are keywords, sentences are text; a job's `meta` is kept and not indexed (`labels` are)."""


def event_template(*, lifecycle: bool) -> dict[str, Any]:
    """The index template; `lifecycle`: the engine has the policy of `lifecycle_policy`."""
    settings: dict[str, Any] = {"index.mapping.total_fields.limit": 2000, "index.codec": "best_compression"}
    if lifecycle:
        settings["index.lifecycle.name"] = LIFECYCLE_POLICY
    return {
        "index_patterns": [f"{TEMPLATE}-*"],
        "data_stream": {},
        "priority": _PRIORITY,
        "template": {"settings": settings, "mappings": EVENT_MAPPINGS},
        "_meta": {"description": "Crawl events of Odradek"},
    }


def lifecycle_policy(retention_days: int) -> dict[str, Any]:
    """A new backing index every day or 50 GB; each is deleted `retention_days` after it was closed."""
    return {
        "policy": {
            "phases": {
                "hot": {"actions": {"rollover": {"max_age": "1d", "max_primary_shard_size": "50gb"}}},
                "delete": {"min_age": f"{retention_days}d", "actions": {"delete": {}}},
            }
        }
    }


def bulk_path() -> str:
    """Where NDJSON goes; only what went wrong is asked back beside the statuses.

    A shard that is not open is waited for less long than an answer is, so that the engine says so itself.
    """
    return f"/{LOGS_DATA_STREAM}/_bulk?timeout={SHARD_S}s&filter_path=errors,items.*.status,items.*.error"


def search_path() -> str:
    """Where events are searched; a stream that does not exist yet has no events."""
    return f"/{LOGS_DATA_STREAM}/_search?ignore_unavailable=true"


def count_path() -> str:
    """Where events are counted."""
    return f"/{LOGS_DATA_STREAM}/_count?ignore_unavailable=true"


def delete_path() -> str:
    """Where events are deleted by query."""
    return f"/{LOGS_DATA_STREAM}/_delete_by_query?conflicts=proceed&ignore_unavailable=true"


def refresh_path() -> str:
    """Makes what was written visible to searches."""
    return f"/{LOGS_DATA_STREAM}/_refresh?ignore_unavailable=true"
