"""`odradek extract`: a dry run of the parser over one page, from the web or from a file."""

import json
import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from odradek.agents import product_token
from odradek.cli.tools import page_of
from odradek.clock import now_ms
from odradek.contracts import FetchRequest, PageMeta
from odradek.errors import UserError
from odradek.settings import Settings
from odradek.specification import JobSpecification, load_job_file, validated
from odradek.urls import CrawlUrl, identify
from odradek_parser.core.inspection import inspect_page
from odradek_parser.core.parsing import Reader
from odradek_parser.core.rules import Extraction, compile_rules
from odradek_parser.plugins import PluginRefused, load
from odradek_parser.showing import told

MAX_FILE_BYTES = 64 * 1024 * 1024
_SPARE_SEED = "https://page.example/"


def extract(
    page: Annotated[str, typer.Argument(metavar="URL|FILE", help="A page of the web, or one that was saved.")],
    job: Annotated[Path | None, typer.Option(help="Job file with the rules; none: what every page gives.")] = None,
    url: Annotated[str | None, typer.Option(help="Of a file: the URL it came from, for links and `match`.")] = None,
    content_type: Annotated[str | None, typer.Option(help="Of a file: the content-type header it came with.")] = None,
    allow_private_networks: Annotated[  # noqa: FBT002  (typer's signature)
        bool, typer.Option("--allow-private-networks", help="Also connect to addresses that are not public.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,  # noqa: FBT002  (typer's signature)
) -> None:
    """Show what each rule finds on a page, with which parser, and why fields are empty. Nothing is stored."""
    spec = _specification(job)
    if page.startswith(("http://", "https://")):
        body, meta = _fetched(page, spec, allow_private_networks=allow_private_networks)
    else:
        body = _content(Path(page))
        meta = _meta(spec, Path(page), url, content_type)
    found = inspect_page(_reader(spec, spec.plugins), meta, body).to_dict()  # who runs this wrote the job
    typer.echo(json.dumps(found, ensure_ascii=False, default=str) if as_json else told(found))


def inspect(spec: JobSpecification, meta: PageMeta, body: bytes) -> dict[str, Any]:
    """What the parser would make of a page that was fetched, with the plugins that `ODRADEK_PLUGINS` allows.

    Raises:
        UserError: a plugin is not allowed, or cannot be loaded.
    """
    return inspect_page(_reader(spec, Settings.read(os.environ).plugins), meta, body).to_dict()


def _fetched(url: str, spec: JobSpecification, *, allow_private_networks: bool) -> tuple[bytes, PageMeta]:
    """Fetched by the fetcher, redirects followed."""
    body, meta = page_of(url, spec, allow_private_networks=allow_private_networks)
    if meta.outcome != "fetched" or body is None:
        raise UserError(f"{meta.request.url} gave no page: {meta.error or meta.reason or meta.outcome}.", exit_code=1)
    return body, meta


def _specification(job: Path | None) -> JobSpecification:
    values: dict[str, Any] = {} if job is None else load_job_file(job)
    if not values.get("seeds"):
        values = {**values, "seeds": [_SPARE_SEED]}
    return validated(values, "The job" if job is None else f"The job file {job}")


def _reader(spec: JobSpecification, allowed: Sequence[str]) -> Reader:
    try:
        plugins = load(spec.plugins, allowed)
    except PluginRefused as refused:
        raise UserError(f"The job cannot be read: {refused}.") from None
    settings = Settings.read(os.environ)
    extraction = Extraction(compile_rules(spec).rules, plugins)
    return Reader(spec, product=product_token(settings.user_agent), extraction=extraction)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"The page {path} cannot be read: {error.strerror}.") from None
    if len(body) > MAX_FILE_BYTES:
        raise UserError(f"The page {path} has more than {MAX_FILE_BYTES:,} bytes.")
    return body


def _meta(spec: JobSpecification, path: Path, url: str | None, content_type: str | None) -> PageMeta:
    """As if the file had been fetched just now from where it is said to come from."""
    address = url or (spec.seeds[0].url if spec.seeds else _SPARE_SEED)
    found = identify(address, spec.scope.url_rules)
    if not isinstance(found, CrawlUrl):
        raise UserError(f"{address} is not a URL that can be crawled ({found}).")
    media = content_type or mimetypes.guess_type(path.name)[0]
    _, _, charset = (media or "").lower().partition("charset=")
    return PageMeta(
        request=FetchRequest(job="dry-run", url=found.url, fp=found.fp, key=found.key),
        outcome="fetched",
        fetched_at_ms=now_ms(),
        status=200,
        content_type=media,
        charset=charset.strip(" \"'") or None,
    )
