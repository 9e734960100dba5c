"""A job's activity as its crawl events tell it: history of outcomes, latencies, hosts."""

import math
from datetime import datetime
from typing import Any, Final

from odradek_api.core.queries import FIELDS, NEWEST_FIRST

HISTORY_BUCKETS: Final = 60
NICE_INTERVALS_S: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400)
LATENCY_SAMPLE: Final = 1000
LATENCY_WINDOWS: Final = 24
MOST_HOSTS: Final = 200
PERCENTS: Final = (50, 95, 99)
HOST_KEY: Final = "odradek.host_key"


def fetches_of(job: str) -> dict[str, Any]:
    """A query for the finished tries of a job's pages."""
    return {"bool": {"filter": [{"term": {FIELDS["job"]: job}}, {"term": {FIELDS["action"]: "fetch"}}]}}


def interval_s(span_ms: int) -> int:
    """The shortest round interval that gives at most `HISTORY_BUCKETS` of them."""
    wanted = span_ms / 1000 / HISTORY_BUCKETS
    return next((each for each in NICE_INTERVALS_S if each >= wanted), math.ceil(wanted / 86_400) * 86_400)


def history_body(job: str, every_s: int) -> dict[str, Any]:
    """A search for outcomes over time."""
    time: dict[str, Any] = {"field": "@timestamp", "fixed_interval": f"{every_s}s", "min_doc_count": 1}
    outcomes = {"outcomes": {"terms": {"field": FIELDS["outcome"], "size": 10}}}
    return {"query": fetches_of(job), "size": 0, "aggs": {"time": {"date_histogram": time, "aggs": outcomes}}}


def history_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """[{at_ms, outcomes: {name: count}}] of such a search, oldest first."""
    buckets = ((answer.get("aggregations") or {}).get("time") or {}).get("buckets", [])
    return [
        {
            "at_ms": int(bucket["key"]),
            "outcomes": {each["key"]: each["doc_count"] for each in bucket["outcomes"]["buckets"]},
        }
        for bucket in sorted(buckets, key=lambda bucket: int(bucket["key"]))
    ]


def latency_body(job: str) -> dict[str, Any]:
    """A search for the durations of the newest fetches; percentiles by the engine itself are not for every engine."""
    return {
        "query": fetches_of(job),
        "size": LATENCY_SAMPLE,
        "sort": NEWEST_FIRST,
        "_source": ["@timestamp", "event.duration"],
        "track_total_hits": False,
    }


def latency_of(answer: dict[str, Any]) -> dict[str, Any]:
    """{sample, p50_ms, p95_ms, p99_ms, windows: [{at_ms, p50_ms, …}]} of such a search, windows oldest first."""
    found = [
        (_at_ms(hit["_source"]["@timestamp"]), hit["_source"]["event"]["duration"] / 1e6)
        for hit in answer["hits"]["hits"]
        if (hit["_source"].get("event") or {}).get("duration") is not None
    ]
    if not found:
        return {"sample": 0, "windows": []} | {f"p{percent}_ms": None for percent in PERCENTS}
    found.sort()
    first, last = found[0][0], found[-1][0]
    width = max(1000, math.ceil((last - first + 1) / LATENCY_WINDOWS))
    windows: dict[int, list[float]] = {}
    for at_ms, duration in found:
        windows.setdefault((at_ms - first) // width, []).append(duration)
    return (
        {"sample": len(found)}
        | _percentiles([duration for _, duration in found])
        | {
            "windows": [
                {"at_ms": first + number * width, "count": len(durations)} | _percentiles(durations)
                for number, durations in sorted(windows.items())
            ]
        }
    )


def hosts_body(job: str, *, failed: bool = False) -> dict[str, Any]:
    """A search for the hosts a job fetched most from; `failed`: counting only tries that failed."""
    query = fetches_of(job)
    if failed:
        query["bool"]["filter"].append({"term": {FIELDS["outcome"]: "failed"}})
    return {"query": query, "size": 0, "aggs": {"hosts": {"terms": {"field": HOST_KEY, "size": MOST_HOSTS}}}}


def hosts_of(answer: dict[str, Any]) -> dict[str, int]:
    """{politeness key: tries} of such a search, most first."""
    buckets = ((answer.get("aggregations") or {}).get("hosts") or {}).get("buckets", [])
    return {bucket["key"]: bucket["doc_count"] for bucket in buckets}


def _percentiles(durations: list[float]) -> dict[str, float]:
    ordered = sorted(durations)
    return {
        f"p{percent}_ms": round(ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)], 1) for percent in PERCENTS
    }


def _at_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
