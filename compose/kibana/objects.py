"""Kibana's saved objects for crawl events: a data view, searches, and a dashboard of Lens panels.

Written as code because Kibana keeps its objects as JSON inside JSON. The form is that of Kibana 8.9; newer versions,
9 included, bring it up to date when it is imported.
"""

import json
from collections.abc import Iterator
from typing import Any

VIEW = "odradek-crawl"
CORE = "8.8.0"
WIDTH = 48
"""Columns of a dashboard's grid."""

Json = dict[str, Any]


def objects() -> Iterator[Json]:
    """Everything, what is referred to first."""
    yield _object("index-pattern", VIEW, "8.0.0", {
        "title": "logs-odradek.crawl-*", "name": "Crawl events", "timeFieldName": "@timestamp",
    })  # fmt: skip
    yield from SEARCHES
    yield from (panel for panel, _ in PANELS)
    yield _dashboard()


def ndjson() -> str:
    """The file that Kibana imports."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in objects())


def _object(kind: str, name: str, migrated: str, attributes: Json, references: list[Json] | None = None) -> Json:
    return {
        "type": kind, "id": name, "attributes": attributes, "references": references or [],
        "coreMigrationVersion": CORE, "typeMigrationVersion": migrated, "managed": False,
    }  # fmt: skip


def _kql(query: str) -> Json:
    return {"query": query, "language": "kuery"}


# ---- searches


def _search(name: str, title: str, query: str, columns: list[str], order: str = "@timestamp") -> Json:
    source = {
        "query": _kql(query), "filter": [], "highlightAll": True, "version": True,
        "indexRefName": "kibanaSavedObjectMeta.searchSourceJSON.index",
    }  # fmt: skip
    attributes = {
        "title": title, "description": "", "columns": columns, "sort": [[order, "desc"]], "grid": {},
        "hideChart": False, "isTextBasedQuery": False, "timeRestore": False,
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(source)},
    }  # fmt: skip
    view = {"name": "kibanaSavedObjectMeta.searchSourceJSON.index", "type": "index-pattern", "id": VIEW}
    return _object("search", name, "8.0.0", attributes, [view])


SEARCHES = (
    _search("odradek-failures", "Failures", "event.outcome: failure",
            ["url.full", "event.reason", "http.response.status_code", "error.message", "odradek.job_id"]),
    _search("odradek-robots", "Robots refusals", "event.reason: robots",
            ["url.full", "message", "odradek.job_id"]),
    _search("odradek-slow", "Slow hosts", "event.action: fetch and event.duration >= 2000000000",
            ["url.domain", "url.full", "event.duration", "http.response.status_code"], order="event.duration"),
)  # fmt: skip


# ---- Lens panels


def _count(label: str = "Events") -> Json:
    return {
        "label": label, "dataType": "number", "operationType": "count", "isBucketed": False, "scale": "ratio",
        "sourceField": "___records___", "params": {"emptyAsNull": True},
    }  # fmt: skip


def _over_time() -> Json:
    return {
        "label": "Time", "customLabel": True, "dataType": "date", "operationType": "date_histogram",
        "sourceField": "@timestamp", "isBucketed": True, "scale": "interval",
        "params": {"interval": "auto", "includeEmptyRows": True, "dropPartials": False},
    }  # fmt: skip


def _by(field: str, label: str, size: int, order_by: str = "count", *, number: bool = False) -> Json:
    return {
        "label": label, "customLabel": True, "dataType": "number" if number else "string",
        "operationType": "terms", "sourceField": field,
        "isBucketed": True, "scale": "ordinal",
        "params": {
            "size": size, "orderBy": {"type": "column", "columnId": order_by}, "orderDirection": "desc",
            "otherBucket": False, "missingBucket": False, "parentFormat": {"id": "terms"},
        },
    }  # fmt: skip


def _duration(operation: str, label: str, params: Json | None = None) -> Json:
    shown = {"id": "duration", "params": {"fromUnit": "nanoseconds", "toUnit": "asMilliseconds", "decimals": 0}}
    return {
        "label": label, "customLabel": True, "dataType": "number", "operationType": operation, "isBucketed": False,
        "sourceField": "event.duration", "scale": "ratio", "params": {**(params or {}), "format": shown},
    }  # fmt: skip


def _lens(name: str, title: str, kind: str, query: str, drawn: tuple[dict[str, Json], Json]) -> Json:
    columns, visualization = drawn
    layer = {"columnOrder": list(columns), "columns": columns, "incompleteColumns": {}}
    state = {
        "datasourceStates": {"formBased": {"layers": {"layer": layer}}}, "visualization": visualization,
        "query": _kql(query), "filters": [], "internalReferences": [], "adHocDataViews": {},
    }  # fmt: skip
    view = {"name": "indexpattern-datasource-layer-layer", "type": "index-pattern", "id": VIEW}
    return _object("lens", name, "8.9.0", {"title": title, "visualizationType": kind, "state": state}, [view])


def _bars(name: str, title: str, query: str, split: Json) -> Json:
    layer = {
        "layerId": "layer", "layerType": "data", "seriesType": "bar_stacked", "position": "top",
        "showGridlines": False, "xAccessor": "time", "splitAccessor": "split", "accessors": ["count"],
    }  # fmt: skip
    drawn = {"legend": {"isVisible": True, "position": "right"}, "valueLabels": "hide",
             "preferredSeriesType": "bar_stacked", "layers": [layer]}  # fmt: skip
    return _lens(name, title, "lnsXY", query, ({"split": split, "time": _over_time(), "count": _count()}, drawn))


def _lines(name: str, title: str, query: str, values: dict[str, Json]) -> Json:
    layer = {"layerId": "layer", "layerType": "data", "seriesType": "line", "xAccessor": "time",
             "accessors": list(values)}  # fmt: skip
    drawn = {"legend": {"isVisible": True, "position": "right"}, "valueLabels": "hide", "preferredSeriesType": "line",
             "layers": [layer]}  # fmt: skip
    return _lens(name, title, "lnsXY", query, ({"time": _over_time(), **values}, drawn))


def _table(name: str, title: str, query: str, columns: dict[str, Json]) -> Json:
    drawn = {"layerId": "layer", "layerType": "data", "columns": [{"columnId": each} for each in columns]}
    return _lens(name, title, "lnsDatatable", query, (columns, drawn))


_FETCHED = "event.action: fetch"
_FAILED = "event.outcome: failure"
_HALF = WIDTH // 2

PANELS: tuple[tuple[Json, tuple[int, int, int, int]], ...] = (
    (_bars("odradek-outcomes", "Fetches by outcome", _FETCHED, _by("odradek.outcome", "Outcome", 6)),
     (0, 0, WIDTH, 11)),
    (_bars("odradek-reasons", "Failures by reason", _FAILED, _by("event.reason", "Reason", 10)), (0, 11, _HALF, 11)),
    (_bars("odradek-statuses", "Status codes", _FETCHED, _by("http.response.status_code", "Status", 10, number=True)),
     (_HALF, 11, _HALF, 11)),
    (_lines("odradek-latency", "Time of a fetch", _FETCHED, {
        "p50": _duration("percentile", "median", {"percentile": 50}),
        "p95": _duration("percentile", "95th percentile", {"percentile": 95}),
     }), (0, 22, WIDTH, 10)),
    (_table("odradek-slowest", "Slowest hosts", _FETCHED, {
        "host": _by("url.domain", "Host", 15, order_by="mean"),
        "mean": _duration("average", "mean"), "count": _count("Fetches"),
     }), (0, 32, _HALF, 14)),
    (_table("odradek-failing", "Hosts that fail most", _FAILED, {
        "host": _by("url.domain", "Host", 15), "reason": _by("event.reason", "Reason", 3), "count": _count("Failures"),
     }), (_HALF, 32, _HALF, 14)),
)  # fmt: skip


def _dashboard() -> Json:
    panels, references = [], []
    placed = [(panel["id"], "lens", place) for panel, place in PANELS]
    placed.append(("odradek-failures", "search", (0, 46, WIDTH, 18)))
    for number, (name, kind, (x, y, w, h)) in enumerate(placed):
        index = f"p{number}"
        panels.append({
            "type": kind, "panelIndex": index, "gridData": {"x": x, "y": y, "w": w, "h": h, "i": index},
            "embeddableConfig": {"enhancements": {}}, "panelRefName": f"panel_{index}",
        })  # fmt: skip
        references.append({"name": f"{index}:panel_{index}", "type": kind, "id": name})
    attributes = {
        "title": "Odradek: crawl", "description": "What is fetched, what fails and why, and which hosts are slow.",
        "panelsJSON": json.dumps(panels), "version": 1, "timeRestore": True, "timeFrom": "now-24h", "timeTo": "now",
        "optionsJSON": json.dumps({"useMargins": True, "syncColors": False, "hidePanelTitles": False}),
        "refreshInterval": {"pause": False, "value": 10000},
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps({"query": _kql(""), "filter": []})},
    }  # fmt: skip
    return _object("dashboard", "odradek-crawl", "8.9.0", attributes, references)
