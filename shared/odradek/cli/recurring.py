"""`odradek jobs runs` and `odradek jobs freshness`: what recurring jobs did, and will do."""

from typing import Annotated, Any, Final

import typer

from odradek.cli.rest import segment
from odradek.cli.tables import LOCAL, Api, AsJson, print_json, rest, show, wants_json
from odradek.contracts import timestamp

AHEAD: Final = ("next_run", "next_run_at_ms", "deadline_ms", "expected_end_ms", "missed")
FRESH: Final = ("items", "fresh", "share", "oldest_age_s")
HOSTS: Final = ("host", "items", "fresh", "share", "oldest_seen")
LATE_MS: Final = 60_000
"""A run that begins less late says nothing of it."""


def runs(
    job: str,
    begin: Annotated[bool, typer.Option("--begin", help="Begin the next one now.")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """The runs of a recurring job, when the next one begins, and whether it will be in time."""
    path = f"/v1/jobs/{segment(job)}/runs"
    with rest(api) as gateway:
        if begin:
            show(gateway.post(path), as_json=as_json)
        else:
            show_runs(gateway.get(path), as_json=as_json)


def freshness(
    job: str,
    within: Annotated[str, typer.Option(help="Items seen within this time are fresh.")] = "24h",
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """The share of a job's items that were seen of late, and the oldest ones."""
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/freshness", within=within)
    if wants_json(as_json=as_json):
        print_json(found)
        return
    show([{name: host[name] for name in HOSTS} for host in found["hosts"]], as_json=False, empty="no items")
    if found["hosts"]:
        show({name: found[name] for name in FRESH}, as_json=False)
        show([{"not seen for longest": each["url"], "last seen": each["last_seen"]} for each in found["oldest"]],
             as_json=False)  # fmt: skip


def show_runs(found: dict[str, Any], *, as_json: bool) -> None:
    """Runs as rows that fit a terminal, and below what is to be expected; all of it as JSON."""
    if wants_json(as_json=as_json):
        print_json(found)
        return
    rows = [_row(run) for run in found["data"]]
    used = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    show([{name: row[name] for name in used} for row in rows], as_json=False, empty="no runs: the job does not recur")
    if any(found[name] is not None for name in AHEAD):
        show({name: found[name] for name in AHEAD}, as_json=False)


def _row(run: dict[str, Any]) -> dict[str, Any]:
    """A run; what is null in all of them is no column, so that it fits a terminal."""
    return {
        "run": run["run"],
        "state": run["state"],
        "began": f"{timestamp(run['began_at_ms'])[5:19].replace('T', ' ')}Z",
        "late": _span(run["late_ms"]) if run["late_ms"] >= LATE_MS else None,
        "took": _span(run["duration_ms"]),
        "in time": None if run["met"] is None else "yes" if run["met"] else "no",
        "urls": run["accepted"],
        "fetched": run["fetched"],
        "same": run["not_modified"],
        "skipped": run["skipped"] or None,
        "failed": run["failed"],
    }


def _span(span_ms: int | None) -> str | None:
    if span_ms is None:
        return None
    seconds = span_ms / 1000
    if seconds < 60:  # noqa: PLR2004  (a minute)
        return f"{seconds:.1f}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m"
