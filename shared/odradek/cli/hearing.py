"""`odradek jobs changes` and `odradek jobs webhooks`: what became of items, and who was told of a job."""

import time
from typing import Annotated, Any

import typer

from odradek.cli.rest import segment
from odradek.cli.tables import LOCAL, Api, AsJson, page, print_json, rest, show, wants_json

LOOK_EVERY_S = 2.0
COLUMNS = ("id", "change", "type", "url", "fields")


def changes(
    job: str,
    since: Annotated[str | None, typer.Option(help="ISO 8601, or 15m for 15 minutes ago.")] = None,
    cursor: str | None = None,
    limit: int = 100,
    follow: Annotated[bool, typer.Option("--follow", help="A JSON line for every change, until Ctrl-C.")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Items of a job that are new, changed or gone since an earlier run."""
    with rest(api) as gateway:
        while True:
            found = gateway.get(f"/v1/jobs/{segment(job)}/changes", since=since, cursor=cursor, limit=limit)
            if not follow:
                page(found, COLUMNS, as_json=as_json, empty="no changes")
                return
            if found["lost"]:
                typer.echo(f"{found['lost']} changes were deleted before they were read", err=True)
            for change in found["data"]:
                print_json(change)
            cursor, since = found["next_cursor"], None
            if found["at_end"]:
                time.sleep(LOOK_EVERY_S)


def webhooks(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """What the webhooks of a job were told, newest first, and what came of it."""
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/webhooks")
    if wants_json(as_json=as_json):
        print_json(found)
        return
    show([_row(each) for each in found["data"]], as_json=False, empty="nothing was told yet")


def _row(delivery: dict[str, Any]) -> dict[str, Any]:
    last = delivery["attempts"][-1] if delivery["attempts"] else {}
    said = last.get("error") or (last.get("status") and f"answered {last['status']}")
    shown = {name: delivery[name] for name in ("state", "url", "status")}
    return shown | {"attempts": len(delivery["attempts"]), "last": said}
