"""Questions about crawl events as Elasticsearch queries."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from odradek.contracts import timestamp
from odradek_api.core.cursors import place_in
from odradek_api.core.problems import Problem

FIELDS = {
    "job": "odradek.job_id",
    "host": "url.domain",
    "status": "http.response.status_code",
    "outcome": "odradek.outcome",
    "reason": "event.reason",
    "action": "event.action",
    "fingerprint": "odradek.fingerprint",
}
FACETS = ("outcome", "status", "host", "reason", "action")
FACET_VALUES = 20
HOSTS_TIMED = 1000
"""Of the hosts with the most events, so many are compared by their mean duration."""
_NS = 1e6
MINUTE_S: Final = 60
NEWEST_FIRST: list[dict[str, Any]] = [{"@timestamp": {"order": "desc"}}, {"event.id": {"order": "desc"}}]
"""The second sorts events of the same millisecond, so that a cursor has one place."""


_AGO = re.compile(r"(\d{1,9})(s|m|h|d)\Z", re.ASCII)
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?\Z", re.ASCII)


def events_query(
    now_ms: int,
    *,
    q: str | None = None,
    since: str | None = None,
    until: str | None = None,
    run: int | None = None,
    **filters: str | int | None,
) -> dict[str, Any]:
    """All given filters must hold; `q` is Lucene's query_string; instants are ISO 8601, or 15m for 15 minutes ago.

    Raises:
        Problem: 422 for an instant that is none.
    """
    clauses: list[dict[str, Any]] = [
        {"term": {FIELDS[name]: value}} for name, value in filters.items() if value is not None
    ]
    bounds = {
        bound: _instant(name, text, now_ms)
        for name, bound, text in (("since", "gte", since), ("until", "lte", until))
        if text is not None
    }
    if bounds:
        clauses.append({"range": {"@timestamp": bounds}})
    if run is not None:
        clauses.append(_of_run(run))
    if q:
        clauses.append({"query_string": {"query": q}})
    return {"bool": {"filter": clauses}} if clauses else {"match_all": {}}


def _of_run(run: int) -> dict[str, Any]:
    """Events of the first run do not name it."""
    if run == 1:
        return {"bool": {"must_not": [{"range": {"odradek.run": {"gte": 2}}}]}}
    return {"term": {"odradek.run": run}}


def _instant(name: str, text: str, now_ms: int) -> str | int:
    ago = _AGO.match(text)
    if ago is not None:
        return max(0, now_ms - int(ago[1]) * _UNIT_MS[ago[2]])
    if not _INSTANT.match(text):
        raise _no_instant(name, text)
    return text.replace(" ", "T")


def _no_instant(name: str, text: str) -> Problem:
    message = f"{text!r} is no instant; write 2026-01-31T12:00:00Z, or 15m for 15 minutes ago"
    return Problem(422, "Wrong parameter", f"{name}: {message}", errors=[{"field": name, "message": message}])


def instant_ms(name: str, text: str, now_ms: int) -> int:
    """Milliseconds since 1970 of an instant as `events_query` takes it; without a zone it is UTC.

    Raises:
        Problem: 422 for what is none.
    """
    found = _instant(name, text, now_ms)
    if isinstance(found, int):
        return found
    try:
        moment = datetime.fromisoformat(found)
    except ValueError:
        raise _no_instant(name, text) from None
    return int((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def events_body(query: dict[str, Any], limit: int, after: list[Any] | None) -> dict[str, Any]:
    """A search for one page of events."""
    body = {"query": query, "size": limit, "sort": NEWEST_FIRST, "track_total_hits": True}
    return body if after is None else body | {"search_after": after}


def facets_body(query: dict[str, Any]) -> dict[str, Any]:
    """A search for counts alone: by outcome, status, host, reason, action and minute, and the slowest hosts."""
    counts: dict[str, Any] = {name: {"terms": {"field": FIELDS[name], "size": FACET_VALUES}} for name in FACETS}
    counts["slow"] = {
        "terms": {"field": FIELDS["host"], "size": HOSTS_TIMED},
        "aggs": {"mean": {"avg": {"field": "event.duration"}}},
    }
    timeline = timeline_body(query, MINUTE_S)
    return timeline | {"track_total_hits": True, "aggs": counts | timeline["aggs"]}


def timeline_body(query: dict[str, Any], every_s: int) -> dict[str, Any]:
    """A search for counts over time alone."""
    time = {"date_histogram": {"field": "@timestamp", "fixed_interval": f"{every_s}s", "min_doc_count": 1}}
    return {"query": query, "size": 0, "track_total_hits": False, "aggs": {"time": time}}


def facets_of(answer: dict[str, Any]) -> dict[str, Any]:
    """{total, outcome: [{value, count}], …, slowest_hosts: [{value, count, mean_ms}]}; counts over time apart."""
    found = answer.get("aggregations") or {}
    facets: dict[str, Any] = {
        name: [
            {"value": bucket["key"], "count": bucket["doc_count"]}
            for bucket in (found.get(name) or {}).get("buckets", [])
        ]
        for name in FACETS
    }
    facets["slowest_hosts"] = _slowest((found.get("slow") or {}).get("buckets", []))
    return {"total": answer["hits"]["total"]["value"]} | facets


def moments_of(answer: dict[str, Any]) -> dict[int, int]:
    """Events by the time at which their moment begins, of a search with counts over time."""
    buckets = ((answer.get("aggregations") or {}).get("time") or {}).get("buckets", [])
    return {int(bucket["key"]): bucket["doc_count"] for bucket in buckets}


def joined(moments: Mapping[int, int], every_s: int) -> list[dict[str, Any]]:
    """The same counts in moments of so many seconds: [{at, count}], oldest first, empty ones left out."""
    counts: dict[int, int] = {}
    for at_ms, count in moments.items():
        start = at_ms - at_ms % (every_s * 1000)
        counts[start] = counts.get(start, 0) + count
    return [{"at": timestamp(at_ms), "count": count} for at_ms, count in sorted(counts.items())]


def _slowest(buckets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted here: not every engine sorts hosts by what is computed of each."""
    timed = [
        {"value": bucket["key"], "count": bucket["doc_count"], "mean_ms": round(bucket["mean"]["value"] / _NS, 1)}
        for bucket in buckets
        if bucket["mean"].get("value") is not None
    ]
    return sorted(timed, key=lambda each: (-each["mean_ms"], each["value"]))[:FACET_VALUES]


def after_cursor(cursor: str | None) -> list[Any] | None:
    """The place behind a page of events.

    Raises:
        Problem: 400 for a cursor that is none.
    """
    return None if cursor is None else place_in(cursor, _is_of_an_event)


def _is_of_an_event(place: list[Any]) -> bool:
    return len(place) == len(NEWEST_FIRST) and not any(isinstance(each, list | dict) for each in place)
