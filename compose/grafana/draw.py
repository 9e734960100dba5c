"""Writes Grafana's dashboards: python compose/grafana/draw.py. They are kept as JSON, because Grafana reads that."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "dashboards"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
WIDTH, HEIGHT = 24, 8
SPAN = "$__rate_interval"

Json = dict[str, Any]
Query = tuple[str, str]
"""PromQL, and what its series are called."""


def rate(metric: str, by: str = "") -> str:
    """Events a second, over all replicas."""
    return f"sum{f' by ({by})' if by else ''} (rate({metric}[{SPAN}]))"


def quantile(share: float, metric: str, by: str = "") -> str:
    """A percentile of a histogram."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket[{SPAN}])))"


def percentiles(metric: str, by: str = "") -> list[Query]:
    """Median, 95th and 99th."""
    name = f"{{{{{by}}}}} " if by else ""
    return [(quantile(share, metric, by), f"{name}p{round(share * 100)}") for share in (0.5, 0.95, 0.99)]


def graph(title: str, queries: list[Query], unit: str = "short", *, stacked: bool = False, note: str = "") -> Json:
    """Lines, or areas one on the other."""
    custom = {
        "drawStyle": "line", "lineWidth": 1, "fillOpacity": 40 if stacked else 8, "showPoints": "never",
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }  # fmt: skip
    return _panel(title, "timeseries", queries, note) | {
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }  # fmt: skip


def figure(title: str, query: str, unit: str = "short", red_from: float | None = None, note: str = "") -> Json:
    """One number."""
    steps: list[Json] = [{"color": "green", "value": None}]
    if red_from is not None:
        steps.append({"color": "red", "value": red_from})
    return _panel(title, "stat", [(query, "")], note) | {
        "fieldConfig": {
            "defaults": {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}}, "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"},
    }  # fmt: skip


def _panel(title: str, kind: str, queries: list[Query], note: str) -> Json:
    targets = [
        {"refId": chr(ord("A") + number), "datasource": SOURCE, "expr": expression, "legendFormat": name or "__auto"}
        for number, (expression, name) in enumerate(queries)
    ]
    return {"title": title, "type": kind, "datasource": SOURCE, "description": note, "targets": targets}


def dashboard(uid: str, title: str, rows: list[list[Json]]) -> Json:
    """Rows of panels; the panels of a row share its width."""
    panels, top = [], 0
    for row in rows:
        height = 4 if all(panel["type"] == "stat" for panel in row) else HEIGHT
        for number, panel in enumerate(row):
            left, right = number * WIDTH // len(row), (number + 1) * WIDTH // len(row)
            place = {"x": left, "y": top, "w": right - left, "h": height}
            panels.append(panel | {"id": len(panels) + 1, "gridPos": place})
        top += height
    return {
        "uid": uid, "title": title, "tags": ["odradek"], "timezone": "browser", "schemaVersion": 39, "version": 1,
        "editable": True, "refresh": "10s", "time": {"from": "now-1h", "to": "now"}, "panels": panels,
        "annotations": {"list": []}, "templating": {"list": []},
        "links": [{"title": "Odradek", "type": "dashboards", "tags": ["odradek"], "asDropdown": True}],
    }  # fmt: skip


def crawl() -> Json:
    """What is fetched, and what comes of it."""
    return dashboard("odradek-crawl", "Crawl", [
        [figure("Pages a second", rate('odradek_parsed_pages_total{outcome="fetched"}')),
         figure("Items a second", rate("odradek_parsed_items_total")),
         figure("Events a second", rate("odradek_indexer_events_total")),
         figure("Failures a second", rate('odradek_fetches_total{outcome="failed"}'), red_from=10),
         figure("URLs pending", "sum(odradek_scheduler_pending_urls)"),
         figure("Hosts in back-off", "sum(odradek_scheduler_hosts_backing_off)", red_from=50)],
        [graph("Fetches by outcome", [(rate("odradek_fetches_total", "outcome"), "{{outcome}}")], "reqps",
               stacked=True),
         graph("Failures by reason", [(rate('odradek_fetches_total{outcome="failed"}', "reason"), "{{reason}}")],
               "reqps", stacked=True)],
        [graph("Time of a fetch", percentiles("odradek_fetch_seconds"), "s"),
         graph("Time of parsing a page", percentiles("odradek_parse_seconds"), "s")],
        [graph("Requests open", [("sum(odradek_fetches_open)", "open"), ("sum(odradek_fetches_limit)", "limit")],
               note="When open stays at the limit, add fetchers; when it stays far below, hosts are what limits."),
         graph("Bytes of bodies", [(rate("odradek_fetched_bytes_total"), "bytes")], "Bps")],
        [graph("Links by what became of them", [(rate("odradek_parsed_links_total", "became"), "{{became}}")],
               stacked=True),
         graph("Items by what was done", [(rate("odradek_indexer_items_total", "done"), "{{done}}")], stacked=True)],
        [graph("Items of recurring jobs seen in the last 24 hours",
               [("max by (job) (odradek_job_fresh_items_ratio)", "{{job}}")], "percentunit",
               note="A job whose share falls misses its runs, or they take too long."),
         graph("Oldest item of recurring jobs", [("max by (job) (odradek_job_oldest_item_seconds)", "{{job}}")], "s")],
    ])  # fmt: skip


def frontier() -> Json:
    """Why it is as fast as it is, and not faster."""
    return dashboard("odradek-frontier", "Frontier", [
        [graph("URLs pending", [("sum by (service) (odradek_scheduler_pending_urls)", "pending")]),
         graph("Requests in flight", [("sum(odradek_scheduler_in_flight)", "sent"),
                                      ("sum(odradek_scheduler_unparsed)", "fetched, not parsed")])],
        [graph("Hosts", [("sum(odradek_scheduler_hosts_open)", "with open URLs"),
                         ("sum(odradek_scheduler_hosts_waiting)", "waiting for their delay"),
                         ("sum(odradek_scheduler_hosts_backing_off)", "in back-off")]),
         graph("Requests sent", [(rate("odradek_scheduler_requests_total"), "a second")], "reqps")],
        [graph("Time of a batch", percentiles("odradek_scheduler_fold_seconds"), "s"),
         graph("Event loop late", percentiles("odradek_scheduler_loop_lag_seconds"), "s")],
        [graph("Backlog pages", [("sum(odradek_scheduler_backlog_pages)", "pages")]),
         graph("Time of take-over", [("odradek_scheduler_take_over_seconds_sum", "{{instance}}"),
                                     ("odradek_scheduler_recovery_seconds_sum", "{{instance}}, tables")], "s")],
    ])  # fmt: skip


def pipeline() -> Json:
    """Where work waits."""
    return dashboard("odradek-pipeline", "Pipeline", [
        [figure("Records waiting", "sum(odradek_lag)", red_from=100_000),
         figure("Dead letters in an hour", "sum(increase(odradek_records_dead_total[1h]))", red_from=1),
         figure("Engines away", "sum(odradek_engine_away)", red_from=1),
         figure("Replicas up", 'count(up{job="odradek"} == 1)'),
         figure("Jobs running", "max(odradek_jobs_running)"),
         figure("Longest without a finished URL", "max(odradek_job_still_seconds)", "s", red_from=7200,
                note="Of the running jobs, the one that has stood still for longest.")],
        [graph("Lag by topic", [("sum by (service, topic) (odradek_lag)", "{{service}} {{topic}}")]),
         graph("Lag by partition", [("odradek_lag > 0", "{{topic}} {{partition}}")])],
        [graph("Records handled",
               [(rate("odradek_records_finished_total", "service, topic"), "{{service}} {{topic}}")]),
         graph("Records in hand", [("sum by (service, topic) (odradek_records_in_hand)", "{{service}} {{topic}}")])],
        [graph("Time that stores take", percentiles("odradek_indexer_store_seconds", "topic"), "s"),
         graph("Dead letters", [(rate("odradek_records_dead_total", "service, topic"), "{{service}} {{topic}}")])],
    ])  # fmt: skip


def resources() -> Json:
    """Processor and memory of each replica."""
    return dashboard("odradek-resources", "Resources", [
        [graph("Cores used",
               [('rate(process_cpu_seconds_total{job="odradek"}[' + SPAN + "])", "{{service}} {{instance}}")]),
         graph("Resident memory",
               [('process_resident_memory_bytes{job="odradek"}', "{{service}} {{instance}}")], "bytes")],
        [graph("Open files", [('process_open_fds{job="odradek"}', "{{service}} {{instance}}")]),
         graph("Bodies held by fetchers", [("odradek_fetcher_held_bytes", "{{instance}}")], "bytes")],
    ])  # fmt: skip


def write(folder: Path = FOLDER) -> None:
    """All dashboards, a file each."""
    drawn = {"crawl": crawl(), "frontier": frontier(), "pipeline": pipeline(), "resources": resources()}
    for name, content in drawn.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    write()
