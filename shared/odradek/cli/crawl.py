"""`odradek crawl`: a whole crawl on this machine with embedded engines, from one command."""

import asyncio
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from odradek.addresses import host_refusal
from odradek.cli.given import Delay, MaxDepth, MaxPages, given
from odradek.cli.presenting import Presenter
from odradek.cli.rest import Rest
from odradek.cli.writing import check_output, write_items
from odradek.contracts import FINAL_STATES
from odradek.engines.stack import Stack, StackOptions
from odradek.engines.state import StateFolder
from odradek.errors import InfrastructureAway, UserError
from odradek.runtime.supervisor import Happened
from odradek.settings import Settings
from odradek.specification import JobSpecification, load_job_file, validated
from odradek.urls import identify

POLL_S = 0.2
DRAIN_S = 40.0
INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """One run of the command, as asked for."""

    spec: JobSpecification
    output: Path
    state: Path
    fetchers: int
    environ: Mapping[str, str]
    as_json: bool
    overrides: Mapping[str, str]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(crawl)


def crawl(  # noqa: PLR0913, PLR0917  (the options of design §6)
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...", help="Where to start.")] = None,
    job: Annotated[Path | None, typer.Option(help="Job specification, YAML.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="items.jsonl, .csv or .parquet")] = Path("items.jsonl"),
    max_pages: MaxPages = None,
    max_depth: MaxDepth = None,
    delay: Delay = None,
    allow_private_networks: Annotated[  # noqa: FBT002
        bool, typer.Option("--allow-private-networks", help="Also crawl addresses that are not public.")
    ] = False,
    fetchers: Annotated[int, typer.Option(min=1, max=64, help="Fetcher processes.")] = 1,
    state: Annotated[Path | None, typer.Option(help="Folder that a crawl resumes from.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,  # noqa: FBT002
) -> None:
    """Crawl a site to its end on this machine and write its items; the same command again resumes or reports.

    With a `schedule` in the job file it makes one run, and the same command again the next.
    """
    values = load_job_file(job) if job is not None else {}
    name = "The command line" if job is None else f"The job file {job}"
    spec = validated(given(values, urls or [], max_pages, max_depth, delay), name)
    if not spec.seeds:
        raise UserError("Nothing to crawl: give at least one URL, or a job file with seeds.")
    check_output(output)
    if not (allow_private_networks or Settings.read(os.environ).allow_private_networks):
        _refuse_private(spec)
    digest = digest_of(spec)
    asked = Crawl(
        spec=spec,
        output=output,
        state=state or Path(".odradek") / digest[:16],
        fetchers=fetchers,
        environ=os.environ,
        as_json=as_json,
        overrides=_overrides(spec, os.environ, private=allow_private_networks),
    )
    with StateFolder(asked.state) as folder:
        sys.exit(asyncio.run(_Run(asked, folder.path, digest).whole()))


def _refuse_private(spec: JobSpecification) -> None:
    """Say before anything starts what the gateway would say after it.

    Raises:
        UserError: a seed names this machine or a private network.
    """
    for seed in spec.seeds:
        found = identify(seed.url)
        if not isinstance(found, str) and host_refusal(found.host):
            raise UserError(f"{seed.url} is in a private network; allow it with --allow-private-networks.")


def next_run(known: dict[str, Any]) -> int:
    """What the same command makes: the run that was cut off, or the one after it."""
    return int(known.get("run", 1)) + (known.get("result") is not None)


def has_ended(standing: dict[str, Any], run: int) -> bool:
    """True when this run is over; what stands there may still be that of the run before."""
    return standing["state"] in FINAL_STATES and standing["run"] >= run


def digest_of(spec: JobSpecification) -> str:
    """What tells two crawls apart: the specification, whatever the order in which its fields were written."""
    return hashlib.sha256(json.dumps(spec.to_wire(), sort_keys=True).encode()).hexdigest()


def _overrides(spec: JobSpecification, environ: Mapping[str, str], *, private: bool) -> dict[str, str]:
    """Settings that this crawl needs: its own plugins are allowed, since their author is who runs it."""
    allowed = [*filter(None, environ.get("ODRADEK_PLUGINS", "").split(",")), *spec.plugins]
    overrides = {"ODRADEK_PLUGINS": ",".join(dict.fromkeys(allowed))} if spec.plugins else {}
    if spec.archive is not None and "ODRADEK_ARCHIVE_DIR" not in environ:
        folder = Path(spec.archive.warc)
        overrides["ODRADEK_ARCHIVE_DIR"] = str(folder if folder.is_absolute() else Path.cwd())
    return overrides | ({"ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"} if private else {})


class _Run:
    """From an empty machine to the summary."""

    def __init__(self, asked: Crawl, folder: Path, digest: str) -> None:
        self._asked, self._digest = asked, digest
        self._note = folder / "crawl.json"
        self._show = Presenter(quiet=asked.as_json)
        self._begun = time.monotonic()
        options = StackOptions(folder=folder, environ=asked.environ, fetchers=asked.fetchers, overrides=asked.overrides)
        self._stack = Stack(options, self._show.say, self._told)
        self._stop = asyncio.Event()
        self._dead: dict[str, float] = {}

    async def whole(self) -> int:
        """Run it; returns the exit code."""
        known = self._known()
        if known.get("result") is not None and self._asked.spec.schedule is None:
            self._finish(known["result"], str(self._asked.output) if self._asked.output.exists() else None)
            return _exit_code(known["result"])
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupted)
        try:
            self._show.say("Starting Kafka, the stores and the services")
            await self._until_interrupted(self._stack.start())
            if self._stop.is_set():
                return INTERRUPTED
            split = ", ".join(f"{name.removesuffix('_s')} {seconds} s" for name, seconds in self._stack.split.items())
            self._show.say(f"Started: {split}")
            with Rest(self._stack.api_url) as rest:
                return await self._crawl(rest, known)
        finally:
            self._show.end()
            await self._stack.stop()

    async def _crawl(self, rest: Rest, known: dict[str, Any]) -> int:
        job, run = await asyncio.to_thread(self._submit, rest, known)
        accepted, startup_s = time.monotonic(), round(time.monotonic() - self._begun, 1)
        standing = await self._watch(rest, job, run, accepted)
        if not has_ended(standing, run):
            standing = await self._drain(rest, job)
        result = await asyncio.to_thread(self._result, rest, job, standing, startup_s, accepted)
        self._show.end()
        if not has_ended(standing, run):
            self._finish(result, None)
            return INTERRUPTED
        await asyncio.to_thread(self._write, rest, job, result["items"])
        self._remember(job_id=job, run=run, result=result)
        self._finish(result, str(self._asked.output))
        return _exit_code(result)

    def _write(self, rest: Rest, job: str, wanted: int) -> None:
        with rest.lines(f"/v1/jobs/{job}/export") as lines:
            written = write_items(self._asked.output, lines)
        if written != wanted and self._asked.spec.schedule is None:
            self._show.say(f"{written} of {wanted} items were written: the others have the identity of one of these")

    def _submit(self, rest: Rest, known: dict[str, Any]) -> tuple[str, int]:
        """The job, and the run of it to be waited for."""
        if known.get("job_id") is None:
            job, run = str(rest.post("/v1/jobs", self._asked.spec.to_wire())["job_id"]), 1
        else:
            job, run = known["job_id"], next_run(known)
            standing = rest.get(f"/v1/jobs/{job}")
            if standing["state"] == "paused":
                rest.post(f"/v1/jobs/{job}/resume")
                self._show.say(f"Resuming job {job}")
            elif standing["run"] < run and standing["state"] in FINAL_STATES:
                self._begin(rest, job, run)
        self._remember(job_id=job, run=run)
        return job, run

    def _begin(self, rest: Rest, job: str, run: int) -> None:
        try:
            rest.post(f"/v1/jobs/{job}/runs")
        except UserError:
            if rest.get(f"/v1/jobs/{job}")["run"] < run:  # else it was due, and has begun by itself
                raise
        self._show.say(f"Run {run} of job {job}")

    async def _watch(self, rest: Rest, job: str, run: int, accepted: float) -> Any:
        first_page: float | None = None
        while True:
            try:
                standing = await asyncio.to_thread(rest.get, f"/v1/jobs/{job}")
            except InfrastructureAway as error:
                self._show.say(str(error))
                await asyncio.sleep(POLL_S)
                continue
            if first_page is None and standing["pages"] > 0:
                first_page = time.monotonic()
                self._show.say(
                    f"First page {first_page - accepted:.1f} s after the job was accepted, "
                    f"{first_page - self._begun:.1f} s after the command"
                )
            self._show.progress(standing)
            if has_ended(standing, run) or self._stop.is_set():
                return standing
            await self._until_interrupted(asyncio.sleep(POLL_S))

    async def _drain(self, rest: Rest, job: str) -> Any:
        self._show.end()
        self._show.say("Pausing: what is in flight is finished first (Ctrl-C again to stop at once)")
        standing = await asyncio.to_thread(rest.post, f"/v1/jobs/{job}/pause")
        deadline = time.monotonic() + DRAIN_S
        quiet = 0
        while quiet < 3 and time.monotonic() < deadline:  # noqa: PLR2004  (three readings in a row)
            await asyncio.sleep(POLL_S)
            standing = await asyncio.to_thread(rest.get, f"/v1/jobs/{job}")
            quiet = quiet + 1 if standing["in_flight"] == 0 else 0
        return standing

    def _result(self, rest: Rest, job: str, standing: Any, startup_s: float, accepted: float) -> dict[str, Any]:
        names = ("job_id", "state", "pages", "items", "failed", "skipped", "refused", "links_found", "duplicates")
        times = {"startup_s": startup_s, "duration_s": round(time.monotonic() - accepted, 1)}
        return {name: standing[name] for name in names} | times | {"audit": rest.get(f"/v1/jobs/{job}/audit")}

    def _finish(self, result: dict[str, Any], output: str | None) -> None:
        if self._asked.as_json:
            print(json.dumps(result))  # noqa: T201  (the command's output)
        self._show.summary(result, output)

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = dict(json.loads(self._note.read_text()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError):
            raise UserError(f"{self._note} is damaged; choose another folder with --state.", exit_code=1) from None
        if known.get("digest") != self._digest:
            raise UserError(
                f"The state folder {self._asked.state} belongs to another specification; choose another with --state "
                "or give the same specification."
            )
        return known

    def _remember(self, **values: Any) -> None:
        part = self._note.with_suffix(".part")
        part.write_text(json.dumps({"digest": self._digest, **values}))
        part.replace(self._note)

    def _interrupted(self) -> None:
        if self._stop.is_set():
            os._exit(INTERRUPTED)
        self._stop.set()

    async def _until_interrupted(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if task.done():
            task.result()
        else:
            task.cancel()

    def _told(self, happened: Happened) -> None:
        if happened.event == "died":
            self._dead[happened.name] = happened.at_s
            self._show.say(f"{happened.name} died ({happened.detail}); starting it again")
        elif happened.event == "ready" and happened.name in self._dead:
            took = happened.at_s - self._dead.pop(happened.name)
            self._show.say(f"{happened.name} is back after {took:.1f} s")


def _exit_code(result: dict[str, Any]) -> int:
    return 0 if result["state"] == "complete" and result["audit"]["balanced"] else 1
