"""The stack by `docker compose`, under a project name and ports of its own, with a site to crawl inside its network."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.e2e.natives import HOME, overlay_with_natives

ROOT = Path(__file__).parents[2]
PAGES, CARDS, LINKS = int(os.environ.get("ODRADEK_COMPOSE_PAGES", "1000")), 5, 20
HOSTS = [f"site-{number}" for number in range(6)]
"""Of the one site, so that several partitions have work."""
PORTS = {"ODRADEK_PORT": "18000", "KIBANA_PORT": "15601", "GRAFANA_PORT": "13000", "PROMETHEUS_PORT": "19090"}
UP_S, CRAWL_S = 900, 600
MORE = os.environ.get("ODRADEK_COMPOSE_FILES", "").split()
"""Further overlays, for what the images of this machine need."""

WANTED = [
    pytest.mark.skipif(
        os.environ.get("ODRADEK_COMPOSE") != "1" or shutil.which("docker") is None,
        reason="set ODRADEK_COMPOSE=1, with docker compose, to run the whole stack in containers",
    ),
    pytest.mark.timeout(3600),
]


def address(number: int) -> str:
    """Where a page is."""
    return f"http://{HOSTS[number % len(HOSTS)]}:8080/{number}.html"


def page(number: int) -> str:
    """A page of the site: cards, and links that reach every page."""
    links = "".join(f'<a href="{address((number * LINKS + step) % PAGES)}">{step}</a>' for step in range(LINKS + 1))
    cards = "".join(
        f'<article class="product" data-sku="{number}-{card}"><p class="price">{card}.50</p></article>'
        for card in range(CARDS)
    )
    return f"<!doctype html><title>Page {number}</title>{links}{cards}"


JOB = {
    "seeds": [address(0)],
    "scope": {"allowed_domains": HOSTS},
    "politeness": {"delay": "0s", "concurrency_per_host": 32},
    "traps": False,  # its pages differ in numbers only
    "extract": [{
        "type": "product", "each": "article.product", "key": ["sku"],
        "fields": {
            "sku": {"css": "&", "attr": "data-sku", "required": True},
            "price": {"css": ".price", "type": "decimal", "required": True},
        },
    }],
}  # fmt: skip


class Stack:
    """The stack with these overlays; `variables` are what a person would write into `.env`."""

    def __init__(self, folder: Path, *overlays: str, variables: dict[str, str] | None = None) -> None:
        site = folder / "site"
        site.mkdir()
        for number in range(PAGES):
            (site / f"{number}.html").write_text(page(number))
        files = ("compose.yaml", *overlays, "tests/e2e/compose-site.yaml", *MORE)
        self._compose: tuple[str, ...] = (
            *("docker", "compose", "-p", "odradek-test"),
            *(f"-f{ROOT / file}" for file in files),
        )
        given = {"ODRADEK_TEST_SITE": str(site), "ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"}
        self._environ = os.environ | PORTS | given | (variables or {})
        self.key = ""

    def add(self, overlay: Path) -> None:
        """One more overlay, from here on."""
        self._compose += (f"-f{overlay}",)

    def compose(self, *arguments: str, quiet: bool = False) -> str:
        """One command; what it printed."""
        done = subprocess.run(
            [*self._compose, *arguments], env=self._environ, cwd=ROOT, text=True, capture_output=True, check=False
        )
        if done.returncode and not quiet:
            said = "" if arguments[0] == "logs" else self.compose("logs", "--no-color", "--tail", "20", quiet=True)
            pytest.fail(
                f"docker compose {' '.join(arguments)}: {said[-9000:]}{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done.stdout

    def up(self, *options: str) -> float:
        """Bring all up and wait until all is healthy; how long it took."""
        began = time.monotonic()
        self.compose("up", "-d", "--wait", "--wait-timeout", str(UP_S), *options)
        took = time.monotonic() - began
        self.key = self.compose("exec", "-T", "api", "odradek", "keys", "show").strip()
        return took

    def kafka(self, tool: str, *arguments: str, broker: str = "kafka") -> str:
        """One of Kafka's own commands, in a broker's container."""
        path = f"/opt/kafka/bin/{tool}.sh"
        return self.compose("exec", "-T", broker, path, "--bootstrap-server", f"{broker}:9092", *arguments)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The gateway, as curl would ask it."""
        return json.loads(self.read(path, body))

    def read(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> bytes:
        """The bytes of an answer; POST where there is a body, unless another method is named."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{PORTS['ODRADEK_PORT']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": self.key, "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            said: bytes = answer.read()
            return said

    def submit(self, **more: Any) -> str:
        """A job that crawls the site; its id."""
        job: str = self.ask("/v1/jobs", JOB | more)["job_id"]
        return job

    def change(self, job: str, **settings: Any) -> None:
        """Other settings for a job that runs."""
        self.read(f"/v1/jobs/{job}", settings, "PATCH")

    def wait(self, job: str, there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until its status is as wanted."""
        deadline, status = time.monotonic() + CRAWL_S, None
        while time.monotonic() < deadline:
            try:
                status = self.ask(f"/v1/jobs/{job}")
            except OSError:
                time.sleep(0.2)  # the gateway may be the service that was killed
                continue
            if there(status):
                return dict(status)
            time.sleep(0.1)
        pytest.fail(f"{job} does not come to its end: {status}")

    def until(self, job: str, path: str, there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until an answer on a job's results is as wanted."""
        deadline, answer = time.monotonic() + CRAWL_S, None
        while time.monotonic() < deadline:
            with suppress(OSError):  # the gateway, or a store, may be away
                answer = self.ask(path)
                if there(answer):
                    return dict(answer)
            time.sleep(0.2)
        pytest.fail(f"{path} of {job} does not come to what it must: {answer}")

    def crawled(self, job: str, share: float) -> int:
        """Wait for this share of the pages; how many there were."""
        return int(self.wait(job, lambda status: status["pages"] >= PAGES * share)["pages"])

    def finished(self, job: str) -> None:
        """It comes to its end with every page, item and event once, and a ledger that balances."""
        self.wait(job, lambda status: status["state"] == "complete")
        audit = self.ask(f"/v1/jobs/{job}/audit")
        assert (audit["accepted"], audit["fetched"], audit["pending"], audit["failed"]) == (PAGES, PAGES, 0, 0)
        assert audit["balanced"]
        for action in ("fetch", "parse"):
            told = self._events(job, action)
            assert (len({url for url, _ in told}), max(told.values())) == (PAGES, 1)
        ids = [json.loads(line)["_id"] for line in self.read(f"/v1/jobs/{job}/export").splitlines()]
        assert (len(ids), len(set(ids))) == (PAGES * CARDS, PAGES * CARDS)

    def _events(self, job: str, action: str) -> Counter[tuple[str, int]]:
        """How often each page and try is told of, once there are enough."""
        path = f"/v1/logs?job={job}&action={action}&limit=1000"
        found: Counter[tuple[str, int]] = Counter()
        answer = self.until(job, path, lambda answer: bool(answer["total"] >= PAGES))
        while True:
            found.update((each["url"]["full"], each["odradek"].get("try", 0)) for each in answer["data"])
            if not answer["next_cursor"]:
                return found
            answer = self.ask(f"{path}&cursor={quote(answer['next_cursor'])}")


@contextmanager
def a_stack(folder: Path, *overlays: str, variables: dict[str, str] | None = None) -> Iterator[Stack]:
    """Up from nothing, its image built from this checkout; at the end nothing of it is left."""
    found = Stack(folder, *overlays, variables=variables)
    found.compose("down", "--volumes", "--remove-orphans", quiet=True)
    natives = ("run", "--rm", "-T", "--no-deps", "--entrypoint", "ls", "elasticsearch", HOME)
    if not found.compose(*natives, quiet=True):
        print(f"\n{HOME} is missing in this Elasticsearch: mounted from this machine")  # noqa: T201  (figures)
        found.add(overlay_with_natives(folder / "natives"))
    try:
        began = time.monotonic()
        found.compose("build", "--quiet")
        print(f"\nimage built in {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201  (figures)
        print(f"up from nothing, all healthy in {found.up():.0f} s", flush=True)  # noqa: T201  (figures)
        yield found
    finally:
        found.compose("down", "--volumes", "--remove-orphans", quiet=True)
