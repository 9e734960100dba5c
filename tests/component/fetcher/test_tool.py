"""`odradek fetch`: what the fetcher would make of one URL, from a shell."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from odradek.cli.main import application
from odradek.cli.tools import page_of
from odradek.errors import UserError
from odradek.specification import JobSpecification
from odradek.testing.site import Catalogue, Site


@pytest.fixture
def site() -> Iterator[Site]:
    """The catalogue, served by an event loop of its own: the command runs one itself."""
    loop = asyncio.new_event_loop()
    site = Site(Catalogue(pages=3, hosts=1, port=0))
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(site.__aenter__(), loop).result(10)
    yield site
    asyncio.run_coroutine_threadsafe(site.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def fetch(*arguments: str, **env: str) -> tuple[int, dict[str, Any]]:
    given = ("fetch", *arguments, "--json")
    result = CliRunner().invoke(application(given), given, env=env)
    if isinstance(result.exception, UserError):
        raise result.exception
    return result.exit_code, json.loads(result.stdout)


def test_a_page_is_told_with_its_headers_and_written(site: Site, tmp_path: Path) -> None:
    url, body = site.catalogue.url(1), tmp_path / "page.html"
    code, told = fetch(url, "--allow-private-networks", "-o", str(body))
    assert (code, told["outcome"], told["status"], told["remote_address"]) == (0, "fetched", 200, "127.0.0.1")
    assert told["headers"]["content-type"] == "text/html; charset=utf-8"
    assert told["timings"]["total_ms"] >= told["timings"]["first_byte_ms"] > 0
    assert body.read_bytes() == site.catalogue.body(1)


def test_a_job_says_how_its_urls_are_asked_for(site: Site, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("fetch: {accept: [image/png]}")
    code, told = fetch(site.catalogue.url(1), "--allow-private-networks", "--job", str(job))
    assert (code, told["outcome"], told["reason"]) == (0, "skipped", "content_type")


def test_private_networks_are_closed_here_too(site: Site) -> None:
    code, told = fetch(site.catalogue.url(1))
    assert (code, told["reason"], told["hint"]) == (1, "private_address", "allow it with --allow-private-networks")
    assert site.seen.answers == {}


@pytest.mark.parametrize(
    ("job", "url", "sentence"),
    [
        ("fetch: {headers: {X: '${env:MISSING}'}}", "https://books.example/", "MISSING"),
        ("fetch: {timeout: soon}", "https://books.example/", "job.yaml"),
        ("{}", "ftp://books.example/", "only http and https"),
        ("{}", "books.example", "https://books.example/"),
    ],
)
def test_what_cannot_be_fetched_is_said_in_a_sentence(tmp_path: Path, job: str, url: str, sentence: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(job)
    with pytest.raises(UserError, match=sentence):
        fetch(url, "--job", str(file))


class TwoPlaces:
    """Two ports of one address: the first leads to itself, then to the second; both keep what they were told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str | None, str | None, bytes]] = []
        places = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                told = (self.headers.get("authorization"), self.headers.get("x-key"), body)
                places.told.append((self.path, *told))
                leads = {"/first": places.url(0, "/again"), "/again": places.url(1, "/other")}.get(self.path)
                self.send_response(302 if leads else 200)
                if leads:
                    self.send_header("location", leads)
                self.send_header("content-type", "text/html")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
        self.threads = [Thread(target=server.serve_forever, args=(0.01,)) for server in self.servers]

    def url(self, place: int, path: str) -> str:
        return f"http://127.0.0.1:{self.servers[place].server_port}{path}"

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server, thread in zip(self.servers, self.threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def test_what_a_job_sends_is_not_told_to_the_place_that_a_redirect_leads_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    with TwoPlaces() as places:
        spec = JobSpecification.parse(
            {
                "seeds": [places.url(0, "/first")],
                "fetch": {
                    "method": "POST", "body": "word", "auth": {"bearer": "${env:TOKEN}"}, "headers": {"x-key": "k"},
                },
            }
        )  # fmt: skip
        _, meta = page_of(places.url(0, "/first"), spec, allow_private_networks=True)

    assert meta.outcome == "fetched"
    mine = ("Bearer secret", "k", b"word")
    assert places.told == [("/first", *mine), ("/again", *mine), ("/other", None, None, b"")]
