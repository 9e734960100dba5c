"""`odradek jobs`, `odradek logs` and `odradek items`: the REST routes from a shell."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from odradek.cli.rest import Rest
from odradek.specification import load_job_file, validated

Api = Annotated[str, typer.Option("--api", envvar="ODRADEK_API_URL", help="Address of the gateway.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LOCAL = "http://127.0.0.1:8000"

jobs_app = typer.Typer(help="Submit, watch and steer jobs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(jobs_app, name="jobs")
    app.command()(logs)
    app.command()(items)


def _rest(api: str) -> Rest:
    return Rest(api, os.environ.get("ODRADEK_API_KEY"))


def _show(value: Any, *, as_json: bool) -> None:
    if as_json or not sys.stdout.isatty():
        print(json.dumps(value))  # noqa: T201  (the command's output)
        return
    rows = value if isinstance(value, list) else [value]
    table = Table(box=None)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    Console().print(table)


def _cell(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else "" if value is None else str(value)
    )


@jobs_app.command("submit")
def submit(
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...")] = None,
    job: Annotated[Path | None, typer.Option(help="Job specification, YAML.")] = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Submit a job; prints its id and standing."""
    values = load_job_file(job) if job is not None else {}
    values["seeds"] = [*(values.get("seeds") or []), *(urls or [])]
    spec = validated(values, str(job or "command line"))
    with _rest(api) as rest:
        _show(rest.post("/v1/jobs", spec.to_wire()), as_json=as_json)


@jobs_app.command("list")
def list_jobs(state: str | None = None, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """All jobs, newest first."""
    with _rest(api) as rest:
        found = rest.get("/v1/jobs", state=state, limit=500)["data"]
    shown = ("job_id", "state", "pages", "items", "failed", "pending", "pages_per_s", "eta_s", "limiting_reason")
    _show(found if as_json else [{name: row[name] for name in shown} for row in found], as_json=as_json)


@jobs_app.command("show")
def show(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Where one job stands."""
    with _rest(api) as rest:
        _show(rest.get(f"/v1/jobs/{job}"), as_json=as_json)


@jobs_app.command("audit")
def audit(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """The ledger of a job with its proof; exit code 1 when it does not balance."""
    with _rest(api) as rest:
        found = rest.get(f"/v1/jobs/{job}/audit")
    _show(found, as_json=as_json)
    raise typer.Exit(0 if found["balanced"] else 1)


def _control(action: str) -> None:
    @jobs_app.command(action, help=f"{action.capitalize()} a job.")
    def run(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
        with _rest(api) as rest:
            _show(rest.post(f"/v1/jobs/{job}/{action}"), as_json=as_json)


for _action in ("pause", "resume", "cancel", "retry-failed"):
    _control(_action)


def logs(  # noqa: PLR0913, PLR0917  (the filters of the route)
    q: Annotated[str | None, typer.Argument(help="Words or Lucene query.")] = None,
    job: str | None = None,
    host: str | None = None,
    status: int | None = None,
    outcome: str | None = None,
    reason: str | None = None,
    limit: int = 100,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Search crawl events, newest first."""
    with _rest(api) as rest:
        found = rest.get(
            "/v1/logs", q=q, job=job, host=host, status=status, outcome=outcome, reason=reason, limit=limit
        )
    if as_json or not sys.stdout.isatty():
        print(json.dumps(found))  # noqa: T201  (the command's output)
        return
    rows = [
        {
            "at": e["@timestamp"],
            "action": e["event"]["action"],
            "url": e.get("url", {}).get("full"),
            "said": e["message"],
        }
        for e in found["data"]
    ]
    _show(rows or [{"events": "none"}], as_json=False)


def items(job: str, api: Api = LOCAL) -> None:
    """Every item of a job as JSON lines."""
    with _rest(api) as rest, rest.lines(f"/v1/jobs/{job}/export") as lines:
        for line in lines:
            print(line)  # noqa: T201  (the command's output)
