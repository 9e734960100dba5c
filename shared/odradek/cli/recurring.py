"""`odradek jobs runs` and `odradek jobs freshness`: what recurring jobs did, and will do."""

from typing import Annotated, Any

import typer

from odradek.cli.rest import segment
from odradek.cli.tables import LOCAL, Api, AsJson, print_json, rest, show, wants_json

RUNS = (
    "run", "state", "began_at_ms", "late_ms", "duration_ms", "met", "accepted", "fetched", "not_modified", "skipped",
    "failed", "items",
)  # fmt: skip
AHEAD = ("next_run", "next_run_at_ms", "deadline_ms", "expected_end_ms", "missed")
FRESH = ("items", "fresh", "share", "oldest_age_s")


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
            show_parts(
                gateway.get(path), ("data", RUNS), AHEAD, as_json=as_json, empty="no runs: the job does not recur"
            )


def freshness(
    job: str,
    within: Annotated[str, typer.Option(help="Items seen within this time are fresh.")] = "24h",
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """The share of a job's items that were seen of late, and the oldest ones."""
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/freshness", within=within)
    show_parts(
        found, ("hosts", ("host", "items", "fresh", "share", "oldest_seen")), FRESH, as_json=as_json, empty="no items"
    )
    if not wants_json(as_json=as_json) and found["oldest"]:
        show(found["oldest"], as_json=False)


def show_parts(
    found: dict[str, Any], rows: tuple[str, tuple[str, ...]], whole: tuple[str, ...], *, as_json: bool, empty: str
) -> None:
    """A list in it as a table, and below what is said of the whole; all of it as JSON."""
    if wants_json(as_json=as_json):
        print_json(found)
        return
    name, columns = rows
    show([{column: row[column] for column in columns} for row in found[name]], as_json=False, empty=empty)
    if found[name]:
        show({each: found[each] for each in whole}, as_json=False)
