"""Questions about crawl events as Elasticsearch queries."""

from typing import Any

FIELDS = {
    "job": "odradek.job_id",
    "host": "url.domain",
    "status": "http.response.status_code",
    "outcome": "odradek.outcome",
    "reason": "event.reason",
    "action": "event.action",
    "fingerprint": "odradek.fingerprint",
}


def events_query(
    *,
    q: str | None = None,
    since: str | None = None,
    until: str | None = None,
    **filters: str | int | None,
) -> dict[str, Any]:
    """All given filters must hold; `q` is Lucene's query_string."""
    clauses: list[dict[str, Any]] = [
        {"term": {FIELDS[name]: value}} for name, value in filters.items() if value is not None
    ]
    if since is not None or until is not None:
        bounds = {name: value for name, value in (("gte", since), ("lte", until)) if value is not None}
        clauses.append({"range": {"@timestamp": bounds}})
    if q:
        clauses.append({"query_string": {"query": q}})
    return {"bool": {"filter": clauses}} if clauses else {"match_all": {}}
