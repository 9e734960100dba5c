"""The stack by `docker compose`, as a stranger brings it up: crawl, scale, kill each service, down and up again.

It builds an image and runs eleven containers for some minutes, so it runs only where ODRADEK_COMPOSE=1 says so and
`docker compose` is there:

    ODRADEK_COMPOSE=1 make e2e ARGS="-s tests/e2e/test_compose.py"
"""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES, CARDS, LINKS = int(os.environ.get("ODRADEK_COMPOSE_PAGES", "1000")), 5, 20
PORTS = {"ODRADEK_PORT": "18000", "KIBANA_PORT": "15601", "GRAFANA_PORT": "13000", "PROMETHEUS_PORT": "19090"}
SERVICES = ("scheduler", "fetcher", "parser", "indexer", "api")
UP_S, CRAWL_S = 900, 600

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("ODRADEK_COMPOSE") != "1" or shutil.which("docker") is None,
        reason="set ODRADEK_COMPOSE=1, with docker compose, to run the whole stack in containers",
    ),
    pytest.mark.timeout(3600),
]


def page(number: int) -> str:
    """A page of the site: cards, and links that reach every page."""
    links = "".join(f'<a href="{(number * LINKS + step) % PAGES}.html">{step}</a>' for step in range(LINKS + 1))
    cards = "".join(
        f'<article class="product" data-sku="{number}-{card}"><p class="price">{card}.50</p></article>'
        for card in range(CARDS)
    )
    return f"<!doctype html><title>Page {number}</title>{links}{cards}"


JOB = {
    "seeds": ["http://site:8080/0.html"],
    "politeness": {"delay": "0s", "concurrency_per_host": 32},
    "extract": [{
        "type": "product", "each": "article.product", "key": ["sku"],
        "fields": {
            "sku": {"css": "&", "attr": "data-sku", "required": True},
            "price": {"css": ".price", "type": "decimal", "required": True},
        },
    }],
}  # fmt: skip


class Stack:
    """The stack under a project name of its own."""

    def __init__(self, folder: Path) -> None:
        site = folder / "site"
        site.mkdir()
        for number in range(PAGES):
            (site / f"{number}.html").write_text(page(number))
        files = ("-f", str(ROOT / "compose.yaml"), "-f", str(ROOT / "tests" / "e2e" / "compose-site.yaml"))
        self._compose = ("docker", "compose", "-p", "odradek-test", *files)
        self._environ = os.environ | PORTS | {"ODRADEK_TEST_SITE": str(site), "ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"}
        self.key = ""

    def compose(self, *arguments: str, quiet: bool = False) -> str:
        """One command; what it printed."""
        done = subprocess.run(
            [*self._compose, *arguments], env=self._environ, cwd=ROOT, text=True, capture_output=True, check=False
        )
        if done.returncode and not quiet:
            pytest.fail(f"docker compose {' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def up(self, *options: str) -> float:
        """Bring all up and wait until all is healthy; how long it took."""
        began = time.monotonic()
        self.compose("up", "-d", "--wait", "--wait-timeout", str(UP_S), *options)
        self.key = self.compose("exec", "-T", "api", "odradek", "keys", "show").strip()
        return time.monotonic() - began

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The gateway, as curl would ask it."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{PORTS['ODRADEK_PORT']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": self.key, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def submit(self) -> str:
        """A job that crawls the site; its id."""
        job: str = self.ask("/v1/jobs", JOB)["job_id"]
        return job

    def wait(self, job: str, there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until its status is as wanted."""
        deadline = time.monotonic() + CRAWL_S
        while time.monotonic() < deadline:
            try:
                status: dict[str, Any] = self.ask(f"/v1/jobs/{job}")
            except OSError:
                continue
            if there(status):
                return status
        pytest.fail(f"{job} does not come to its end: {status}")

    def finished(self, job: str) -> None:
        """It comes to its end with every page and item once, and a ledger that balances."""
        self.wait(job, lambda status: status["state"] == "complete")
        audit = self.ask(f"/v1/jobs/{job}/audit")
        assert (audit["accepted"], audit["fetched"], audit["pending"], audit["failed"]) == (PAGES, PAGES, 0, 0)
        assert audit["balanced"]
        found = self.ask(f"/v1/logs?job={job}&action=fetch&limit=1")
        assert found["data"]
        request = urllib.request.Request(
            f"http://127.0.0.1:{PORTS['ODRADEK_PORT']}/v1/jobs/{job}/export", headers={"X-API-Key": self.key}
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            ids = [json.loads(line)["_id"] for line in answer]
        assert (len(ids), len(set(ids))) == (PAGES * CARDS, PAGES * CARDS)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    found = Stack(tmp_path_factory.mktemp("stack"))
    found.compose("down", "--volumes", "--remove-orphans", quiet=True)
    print(f"\ncold up, image built: {found.up('--build'):.0f} s to all healthy")  # noqa: T201  (figures)
    yield found
    print(found.compose("logs", "--no-color", "--tail", "5"))  # noqa: T201  (figures)
    found.compose("down", "--volumes", "--remove-orphans", quiet=True)


def test_a_job_submitted_by_rest_leaves_items_and_events(stack: Stack) -> None:
    stack.finished(stack.submit())
    print(stack.compose("ps", "--format", "table {{.Service}}\t{{.Status}}"))  # noqa: T201  (figures)


def test_four_fetchers_share_the_partitions(stack: Stack) -> None:
    stack.up("--scale", "fetcher=4")
    job = stack.submit()
    stack.wait(job, lambda status: status["pages"] >= PAGES // 10)
    groups = ("/opt/kafka/bin/kafka-consumer-groups.sh", "--bootstrap-server", "localhost:9092", "--describe")
    said = stack.compose("exec", "-T", "kafka", *groups, "--group", "odradek.fetcher", "--members", "--verbose")
    members = [line.split() for line in said.splitlines() if line.startswith("odradek.fetcher")]
    print(said)  # noqa: T201  (figures)
    stack.finished(job)
    assert sorted(int(member[4]) for member in members) == [3, 3, 3, 3]


@pytest.mark.parametrize("service", SERVICES)
def test_a_killed_service_loses_nothing(stack: Stack, service: str) -> None:
    job = stack.submit()
    stack.wait(job, lambda status: status["pages"] >= PAGES // 10)
    stack.compose("kill", "--signal", "KILL", service)
    seconds = stack.up("--no-recreate", "--scale", "fetcher=4")
    print(f"{service} killed, all healthy again after {seconds:.0f} s")  # noqa: T201  (figures)
    stack.finished(job)


def test_a_half_done_job_goes_on_after_down_and_up(stack: Stack) -> None:
    job = stack.submit()
    status = stack.wait(job, lambda status: status["pages"] >= PAGES // 3)
    stack.compose("down")
    print(f"down at {status['pages']} pages; up again in {stack.up():.0f} s")  # noqa: T201  (figures)
    stack.finished(job)
