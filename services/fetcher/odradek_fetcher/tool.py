"""`odradek fetch URL`: one fetch as the fetcher makes it, told to whoever asks. No Kafka, no robots.txt, no waiting."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from odradek.cli.tables import AsJson, show, wants_json
from odradek.contracts import FetchRequest, PageMeta
from odradek.errors import UserError
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek.specification import JobSpecification, load_job_file, validated
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.composition import fetching_for
from odradek_fetcher.core.facts import SERVICE
from odradek_fetcher.core.following import same_place
from odradek_fetcher.core.plans import Plan, PlanProblem, plan, without_secrets
from odradek_fetcher.fetching import Result
from odradek_fetcher.settings import user_agent

DRY = "dry-run"
_WHY = {
    "scheme": "only http and https can be fetched",
    "malformed": "write it in full, such as https://books.example/; user and password belong into fetch.auth of a job",
    "too_long": "it is too long",
}


def fetch(
    url: Annotated[str, typer.Argument(help="What to fetch.")],
    job: Annotated[Path | None, typer.Option(help="Job specification, YAML: how its URLs are asked for.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the body to this file.")] = None,
    later_try: Annotated[  # noqa: FBT002
        bool, typer.Option("--later-try", help="As a try after a failure: by the other library.")
    ] = False,
    allow_private_networks: Annotated[  # noqa: FBT002
        bool, typer.Option("--allow-private-networks", help="Also connect to addresses that are not public.")
    ] = False,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Fetch one URL as the fetcher would, and tell what came of it.

    The same guards, limits and decoding; redirects to other URLs are told and not followed. Neither robots.txt nor the
    host's crawl delay is looked at: the scheduler does that. Exit code 1 when the fetch failed.
    """
    settings = _settings(allow_private_networks=allow_private_networks)
    configure_logs(settings, SERVICE)
    spec = validated({} if job is None else load_job_file(job), f"The job file {job}")
    result = asyncio.run(_fetched(settings, _plan(spec, settings), url, attempt=int(later_try)))
    if output is not None and result.body is not None:
        _write(output, result.body)
    told = told_of(result)
    if result.page.reason == "private_address":
        told["hint"] = "allow it with --allow-private-networks"
    show(told if wants_json(as_json=as_json) else _flat(told), as_json=as_json)
    if result.page.outcome == "failed":
        raise typer.Exit(1)


def fetch_page(
    url: str, spec: JobSpecification, *, meant_for: str | None = None, allow_private_networks: bool = False
) -> tuple[bytes | None, PageMeta]:
    """One fetch as a job's specification asks for it: the body, if it gave one, and what a parser is told of it.

    `meant_for`: the URL whose place may be told what the job sends; null: this one's.

    Raises:
        UserError: the URL cannot be crawled, or the specification not be carried out here.
    """
    settings = _settings(allow_private_networks=allow_private_networks)
    how, there = _plan(spec, settings), identify(url)
    if meant_for is not None and isinstance(there, CrawlUrl) and not same_place(meant_for, there):
        how = replace(how, headers=without_secrets(how.headers), body=None)
    result = asyncio.run(_fetched(settings, how, url, attempt=0))
    return result.body, result.page


def told_of(result: Result) -> dict[str, Any]:
    """What came of a fetch, for a person or a program."""
    page, headers = result.page, result.answer.headers
    timings = page.timings
    return {
        "url": page.request.url,
        "outcome": page.outcome,
        "reason": page.reason,
        "error": page.error,
        "retry_in_ms": page.retry_in_ms,
        "status": page.status,
        "redirect": page.location,
        "final_url": page.final_url,
        "protocol": page.protocol,
        "remote_address": page.remote_address,
        "tls_verified": page.tls_verified,
        "timings": {name: getattr(timings, name) for name in timings.__struct_fields__},
        "content_type": page.content_type,
        "charset": page.charset,
        "declared_bytes": page.declared_bytes,
        "size_bytes": page.size_bytes,
        "truncated": page.truncated,
        "digest": page.digest,
        "headers": {name: headers.get(name) for name in headers.names()},
    }


def _settings(*, allow_private_networks: bool) -> Settings:
    settings = Settings.read(os.environ)
    return settings.model_copy(update={"allow_private_networks": True}) if allow_private_networks else settings


async def _fetched(settings: Settings, how: Plan, url: str, *, attempt: int) -> Result:
    fetch = how.spec.fetch
    found = identify(url, how.rules, method=fetch.method, body=how.body)
    if not isinstance(found, CrawlUrl):
        raise UserError(f"{url} cannot be fetched: {_WHY.get(found, found)}.")
    request = FetchRequest(job=DRY, url=found.url, fp=found.fp, key=found.key, attempt=attempt)
    async with fetching_for(settings) as fetching:
        return await fetching.carry_out(request, how, found)


def _plan(spec: JobSpecification, settings: Settings) -> Plan:
    try:
        return plan(spec, user_agent=user_agent(settings), environ=os.environ)
    except PlanProblem as problem:
        raise UserError(f"The job cannot be carried out here: {problem}.") from None


def _write(output: Path, body: bytes) -> None:
    try:
        output.write_bytes(body)
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror}.", exit_code=1) from None


def _flat(told: dict[str, Any]) -> dict[str, Any]:
    """One row for each fact that there is."""
    rows: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, dict):
            rows |= {f"{name}.{inner}": each for inner, each in value.items() if each is not None}
        elif value is not None:
            rows[name] = value
    return rows
