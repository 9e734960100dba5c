"""`odradek jobs`: submit, watch, steer and audit jobs through the gateway."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from odradek.cli.given import Delay, MaxDepth, MaxPages, given
from odradek.cli.hearing import changes, webhooks
from odradek.cli.presenting import Presenter
from odradek.cli.recurring import freshness, runs
from odradek.cli.rest import segment
from odradek.cli.tables import LOCAL, Api, AsJson, page, rest, show
from odradek.contracts import FINAL_STATES
from odradek.errors import UserError
from odradek.specification import load_job_file, validated

LOOK_EVERY_S = 0.5
LISTED = ("job_id", "state", "pages", "items", "failed", "pending", "pages_per_s", "eta_s", "limiting_reason")

Key = Annotated[str | None, typer.Option(help="Idempotency key: the same again adds nothing twice.")]

jobs_app = typer.Typer(help="Submit, watch and steer jobs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    jobs_app.command()(runs)
    jobs_app.command()(freshness)
    jobs_app.command()(changes)
    jobs_app.command()(webhooks)
    app.add_typer(jobs_app, name="jobs")


@jobs_app.command("submit")
def submit(  # noqa: PLR0913, PLR0917  (the options of `odradek crawl`)
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...")] = None,
    job: Annotated[Path | None, typer.Option(help="Job specification, YAML.")] = None,
    max_pages: MaxPages = None,
    max_depth: MaxDepth = None,
    delay: Delay = None,
    key: Key = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Submit a job; prints its id and standing."""
    values = given(load_job_file(job) if job is not None else {}, urls or [], max_pages, max_depth, delay)
    spec = validated(values, "The command line" if job is None else f"The job file {job}")
    with rest(api) as gateway:
        show(gateway.post("/v1/jobs", spec.to_wire(), key=key), as_json=as_json)


@jobs_app.command("list")
def list_jobs(
    state: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """All jobs, newest first."""
    with rest(api) as gateway:
        found = gateway.get("/v1/jobs", state=state, limit=limit, cursor=cursor)
    page(found, LISTED, as_json=as_json, empty="no jobs")


@jobs_app.command("show")
def show_job(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Where one job stands."""
    with rest(api) as gateway:
        show(gateway.get(f"/v1/jobs/{segment(job)}"), as_json=as_json)


@jobs_app.command("spec")
def specification(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """What was asked for, as far as it differs from the defaults; secrets are blotted out."""
    with rest(api) as gateway:
        show(gateway.get(f"/v1/jobs/{segment(job)}/specification"), as_json=as_json)


@jobs_app.command("watch")
def watch(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Show progress until the job is over; exit code 1 unless it is complete."""
    presenter = Presenter(quiet=as_json)
    try:
        with rest(api) as gateway:
            while (standing := gateway.get(f"/v1/jobs/{segment(job)}"))["state"] not in FINAL_STATES:
                presenter.progress(standing)
                time.sleep(LOOK_EVERY_S)
    finally:
        presenter.end()
    show(standing, as_json=as_json)
    raise typer.Exit(0 if standing["state"] == "complete" else 1)


@jobs_app.command("audit")
def audit(
    job: str,
    recount: Annotated[bool, typer.Option("--recount", help="Count afresh, through every URL.")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """The ledger of a job with its proof; exit code 1 when it does not balance."""
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/audit", recount=True if recount else None)
    show(found, as_json=as_json)
    raise typer.Exit(0 if found["balanced"] else 1)


@jobs_app.command("urls")
def urls(  # noqa: PLR0913, PLR0917  (the filters of the route)
    job: str,
    state: Annotated[str | None, typer.Option(help="pending, fetched, skipped, failed, …")] = None,
    reason: str | None = None,
    kind: Annotated[str | None, typer.Option(help="page, or sitemap: those that feed the job.")] = None,
    limit: int = 100,
    cursor: str | None = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """A job's URLs by state and reason."""
    filters = {"state": state, "reason": reason, "kind": kind}
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/urls", **filters, limit=limit, cursor=cursor)
    page(found, ("url", "state", "reason", "status"), as_json=as_json, empty="no such URLs")


@jobs_app.command("seeds")
def seeds(
    job: str,
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...")] = None,
    file: Annotated[Path | None, typer.Option(help="One URL a line, .ndjson or .csv; - reads text from stdin.")] = None,
    key: Key = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Add seeds, any number; exit code 1 when some were refused."""
    if not urls and file is None:
        raise UserError("No seeds: give URLs, or a list with --file.")
    if urls and file is not None and key is not None:
        raise UserError("A key is for one list: give URLs or --file with it, not both.")
    with rest(api) as gateway:
        found: dict[str, Any] = {"received": 0, "rejected": [], "rejected_total": 0}
        for kind, lines in _sources(urls or [], file):
            part = gateway.upload(f"/v1/jobs/{segment(job)}/seeds", lines, kind, key)
            found = {name: found[name] + part[name] for name in found}
    show(found, as_json=as_json)
    raise typer.Exit(1 if found["rejected_total"] else 0)


def _sources(urls: list[str], file: Path | None) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Content type and body of each submission."""
    if urls:
        yield "text/plain", (f"{url}\n".encode() for url in urls)
    if file is not None and str(file) == "-":
        yield "text/plain", iter(lambda: sys.stdin.buffer.read(65_536), b"")
    elif file is not None:
        kind = {".ndjson": "application/x-ndjson", ".jsonl": "application/x-ndjson", ".csv": "text/csv"}
        try:
            with file.open("rb") as opened:
                yield kind.get(file.suffix, "text/plain"), iter(lambda: opened.read(65_536), b"")
        except OSError as error:
            raise UserError(f"The seed list {file} cannot be read: {error.strerror}.") from None


@jobs_app.command("set")
def change(
    job: str,
    changes: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="Such as scope.max_pages=500.")],
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Change fields of a job while it runs; `null` goes back to the default."""
    with rest(api) as gateway:
        show(gateway.patch(f"/v1/jobs/{segment(job)}", patch_of(changes)), as_json=as_json)


def patch_of(changes: list[str]) -> dict[str, Any]:
    """The JSON merge patch of assignments such as `scope.max_pages=500`; values are YAML.

    Raises:
        UserError: not FIELD=VALUE.
    """
    patch: dict[str, Any] = {}
    for change in changes:
        path, equals, text = change.partition("=")
        *outer, last = path.split(".")
        if not equals or not all((*outer, last)):
            raise UserError(f"{change!r} changes nothing; write FIELD=VALUE, such as scope.max_pages=500.")
        inner = patch
        for name in outer:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise UserError(f"{path} is given twice, once as a value and once as a mapping.")
        try:
            inner[last] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise UserError(f"The value of {path} is not YAML: {text!r}.") from None
    return patch


@jobs_app.command("delete")
def delete(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Cancel a job, delete its items and forget it; exit code 1 when it must be asked again."""
    with rest(api) as gateway:
        found = gateway.delete(f"/v1/jobs/{segment(job)}")
    show(found, as_json=as_json)
    raise typer.Exit(0 if found["purged"] else 1)


def _control(action: str, said: str) -> None:
    @jobs_app.command(action, help=said)
    def run(job: str, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
        with rest(api) as gateway:
            show(gateway.post(f"/v1/jobs/{segment(job)}/{action}"), as_json=as_json)


for _action, _said in (
    ("pause", "Send nothing new; what is in flight is finished."),
    ("resume", "Go on."),
    ("cancel", "End a job for good; what is open is skipped."),
):
    _control(_action, _said)


@jobs_app.command("retry-failed")
def retry_failed(
    job: str,
    reason: Annotated[str | None, typer.Option(help="Only URLs that failed with it, such as dns.")] = None,
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Open the failed URLs of a job again."""
    with rest(api) as gateway:
        show(gateway.post(f"/v1/jobs/{segment(job)}/retry-failed", reason=reason), as_json=as_json)


@jobs_app.command("quarantine")
def quarantine(job: str, limit: int = 100, api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Patterns of URLs that are held back as traps, and why."""
    with rest(api) as gateway:
        found = gateway.get(f"/v1/jobs/{segment(job)}/quarantine", limit=limit)
    columns = ("pattern", "pages", "new_share", "trapped", "released", "quarantined")
    page(found, columns, as_json=as_json, empty="nothing is held back")


@jobs_app.command("release")
def release(
    job: str,
    pattern: Annotated[str, typer.Argument(help="As `odradek jobs quarantine` shows it.")],
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Let a pattern of URLs go on that was taken for a trap; what was skipped of it is open again."""
    with rest(api) as gateway:
        show(gateway.post(f"/v1/jobs/{segment(job)}/quarantine/release", {"pattern": pattern}), as_json=as_json)


@jobs_app.command("reparse")
def reparse(
    job: str,
    rules: Annotated[
        Path | None, typer.Option("--job", help="Job file whose `extract` becomes the job's; none: the rules it has.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until everything is read and stored.")] = False,  # noqa: FBT002
    api: Api = LOCAL,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Read the pages that Kafka still holds again, with other rules; no site is asked for anything."""
    body = None if rules is None else {"extract": load_job_file(rules).get("extract")}
    with rest(api) as gateway:
        standing = gateway.post(f"/v1/jobs/{segment(job)}/reparse", body)
        while wait and standing["state"] != "done":
            time.sleep(LOOK_EVERY_S)
            standing = gateway.get(f"/v1/jobs/{segment(job)}/reparse")
    show(standing, as_json=as_json)
