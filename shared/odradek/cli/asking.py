"""`odradek logs`, `items`, `explain`, `hosts` and `dead-letters`: the other routes of the gateway from a shell."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from odradek.cli.rest import segment
from odradek.cli.tables import LOCAL, Api, AsJson, page, rest, show, wants_json
from odradek.cli.writing import check_output, write_items
from odradek.errors import UserError

letters_app = typer.Typer(help="Messages that could not be processed.", no_args_is_help=True)
hosts_app = typer.Typer(help="What is known of hosts, and overrides.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(logs)
    app.command()(items)
    app.command()(explain)
    app.add_typer(hosts_app, name="hosts")
    app.add_typer(letters_app, name="dead-letters")


def logs(  # noqa: PLR0913, PLR0917  (the filters of the route)
    q: Annotated[str | None, typer.Argument(help="Words or Lucene query.")] = None,
    job: str | None = None,
    host: str | None = None,
    status: int | None = None,
    outcome: str | None = None,
    reason: str | None = None,
    action: str | None = None,
    run: Annotated[int | None, typer.Option(help="Of a recurring job, from 1.")] = None,
    fingerprint: Annotated[str | None, typer.Option(help="Of one URL, as explain shows it.")] = None,
    since: Annotated[str | None, typer.Option(help="ISO 8601, or 15m for 15 minutes ago.")] = None,
    until: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    facets: Annotated[bool, typer.Option("--facets", help="Only count, by outcome, status, host, …")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Search crawl events, newest first."""
    filters: dict[str, Any] = {
        "q": q, "job": job, "host": host, "status": status, "outcome": outcome, "reason": reason, "action": action,
        "run": run, "fingerprint": fingerprint, "since": since, "until": until,
    }  # fmt: skip
    with rest(api) as gateway:
        if facets:
            show(gateway.get("/v1/logs/facets", **filters), as_json=as_json)
            return
        found = gateway.get("/v1/logs", **filters, limit=limit, cursor=cursor)
    if not wants_json(as_json=as_json):
        found["data"] = [_event_row(event) for event in found["data"]]
    page(found, ("at", "action", "url", "said"), as_json=as_json, empty="no such events")


def _event_row(event: dict[str, Any]) -> dict[str, Any]:
    url = (event.get("url") or {}).get("full")
    return {"at": event["@timestamp"], "action": event["event"]["action"], "url": url, "said": event.get("message")}


def items(
    job: str,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Into a .jsonl, .csv or .parquet file.")] = None,
    type: Annotated[str | None, typer.Option(help="Only items of this type.")] = None,  # noqa: A002  (the name users type)
    run: Annotated[int | None, typer.Option(min=1, help="Only items that this run saw last.")] = None,
    change: Annotated[str | None, typer.Option(help="new, changed or unchanged: what that run made of them.")] = None,
    since: Annotated[str | None, typer.Option(help="Last seen since: ISO 8601, or 15m for 15 minutes ago.")] = None,
    api: Api = LOCAL,
) -> None:
    """Items of a job in the order of their ids: JSON lines on standard output, or a file; also while the job runs."""
    given = {"type": type, "run": run, "change": change, "since": since}
    filters = {name: value for name, value in given.items() if value is not None}
    if output is not None:
        check_output(output)
    with rest(api) as gateway, gateway.lines(f"/v1/jobs/{segment(job)}/export", **filters) as lines:
        if output is None:
            for line in lines:
                print(line)  # noqa: T201  (the command's output)
        else:
            print(f"{write_items(output, lines)} items in {output}", file=sys.stderr)  # noqa: T201  (the command's word)


def explain(job: str, url: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Why a URL was or would be fetched, skipped or refused by a job."""
    with rest(api) as gateway:
        found = gateway.get("/v1/explain", job=job, url=url)
    show(found if wants_json(as_json=as_json) else told_first(found), as_json=as_json)


def told_first(found: dict[str, Any]) -> dict[str, Any]:
    """What a person wants to know of a URL: what has become of it and why; then where it belongs, then all the rest."""
    known = dict(found.pop("frontier") or {})
    following = dict(known.pop("next", None) or {})
    first = {"url": found.pop("url"), "state": known.pop("state", None), "why": following.get("why")}
    first |= {name: known.pop(name, None) for name in ("reason", "status")}
    first |= {"robots": (known.pop("robots", None) or {}).get("rule"), "scope": found.pop("sentence")}
    rest = {name: value for name, value in known.items() if name not in ("url", "canonical", "fp", "key")}
    return first | {"due_ms": following.get("due_ms")} | found | rest


@hosts_app.command("list")
def list_hosts(
    q: Annotated[str | None, typer.Argument(help="Part of the name.")] = None,
    limit: int = 100,
    cursor: str | None = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Hosts by name."""
    with rest(api) as gateway:
        found = gateway.get("/v1/hosts", q=q, limit=limit, cursor=cursor)
    columns = ("key", "delay_ms", "in_flight", "fetches", "failures", "mean_latency_ms", "back_off_until_ms", "blocked")
    page(found, columns, as_json=as_json, empty="no hosts")


@hosts_app.command("show")
def show_host(host: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """What is known of one host."""
    with rest(api) as gateway:
        show(gateway.get(f"/v1/hosts/{segment(host)}"), as_json=as_json)


@hosts_app.command("set")
def set_host(
    host: str,
    delay: Annotated[str | None, typer.Option(help="Between two fetches, such as 5s.")] = None,
    concurrency: int | None = None,
    block: Annotated[bool, typer.Option("--block", help="Fetch nothing from it.")] = False,  # noqa: FBT002
    clear_back_off: Annotated[bool, typer.Option("--clear-back-off", help="Go on at once.")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Override what the fleet does to a host; without options everything is as computed again."""
    body = {"delay": delay, "concurrency": concurrency, "blocked": block, "clear_back_off": clear_back_off}
    with rest(api) as gateway:
        show(gateway.put(f"/v1/hosts/{segment(host)}", body), as_json=as_json)


@letters_app.command("list")
def list_letters(
    reason: str | None = None,
    job: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Dead letters by id."""
    with rest(api) as gateway:
        found = gateway.get("/v1/dead-letters", reason=reason, job=job, limit=limit, cursor=cursor)
    page(found, ("id", "reason", "url", "error"), as_json=as_json, empty="no dead letters")


@letters_app.command("replay")
def replay(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...")] = None,
    reason: str | None = None,
    job: str | None = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Send dead letters again to the topic they came from."""
    if not (ids or reason or job):
        raise UserError("Which ones? Give ids, --reason or --job.")
    with rest(api) as gateway:
        body = {"ids": ids or None, "reason": reason, "job": job}
        show(gateway.post("/v1/dead-letters/replay", body), as_json=as_json)
