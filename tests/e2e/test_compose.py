"""The stack by `docker compose`, as a stranger brings it up: crawl, scale, kill each service, down and up again.

It builds an image and runs eleven containers for some minutes, so it runs only where ODRADEK_COMPOSE=1 says so and
`docker compose` is there; ODRADEK_COMPOSE_PAGES (1000) is the size of the site:

    ODRADEK_COMPOSE=1 make e2e ARGS="-s tests/e2e/test_compose.py"
"""

import io
import json
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.e2e.composing import CARDS, PAGES, PORTS, WANTED, Stack, a_stack

SERVICES = ("scheduler", "fetcher", "parser", "indexer", "api")
STORES = ("mongodb", "elasticsearch", "kafka")
FETCHERS = 4
SLOW = {"delay": "120ms", "concurrency_per_host": 1}
"""Twenty seconds for 1,000 pages, so that what happens to a job happens in its midst."""

pytestmark = WANTED


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with a_stack(tmp_path_factory.mktemp("stack")) as found:
        yield found


def shown(text: str) -> None:
    """A figure, for who runs this with -s."""
    print(text, flush=True)  # noqa: T201  (figures)


def fetched_from(name: str, path: str) -> Any:
    """What a port of the stack answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORTS[name]}{path}", timeout=30) as answer:
        return json.load(answer)


def test_a_job_submitted_by_rest_leaves_items_and_events(stack: Stack) -> None:
    job = stack.submit()
    stack.finished(job)
    table = pq.read_table(io.BytesIO(stack.read(f"/v1/jobs/{job}/export?format=parquet")))
    assert table.num_rows == PAGES * CARDS
    shown(stack.compose("ps", "-a", "--format", "table {{.Service}}\t{{.Status}}"))
    used = ("docker", "stats", "--no-stream", "--format", "{{.Name}}\t{{.MemUsage}}\t{{.CPUPerc}}")
    shown(subprocess.run(used, text=True, capture_output=True, check=True).stdout)


def test_pages_are_archived_in_the_volume(stack: Stack) -> None:
    job = stack.submit(archive={"warc": "pages"})
    stack.finished(job)
    files = stack.compose("exec", "-T", "indexer", "find", "/archive/pages", "-name", "*.warc.gz").split()
    assert files


def test_prometheus_sees_every_service_and_grafana_and_kibana_know_their_pictures(stack: Stack) -> None:
    up = fetched_from("PROMETHEUS_PORT", "/api/v1/query?query=up%7Bjob%3D%22odradek%22%7D")["data"]["result"]
    assert {each["metric"]["service"]: each["value"][1] for each in up} == dict.fromkeys(SERVICES, "1")
    rules = fetched_from("PROMETHEUS_PORT", "/api/v1/rules")["data"]["groups"][0]["rules"]
    assert {rule["health"] for rule in rules} == {"ok"}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []
    boards = {board["uid"] for board in fetched_from("GRAFANA_PORT", "/api/search?type=dash-db")}
    assert boards == {"odradek-crawl", "odradek-frontier", "odradek-pipeline", "odradek-resources"}
    found = fetched_from("KIBANA_PORT", "/api/saved_objects/_find?type=search&type=dashboard&per_page=100")
    titles = {each["attributes"]["title"] for each in found["saved_objects"]}
    assert titles == {"Failures", "Robots refusals", "Slow hosts", "Odradek: crawl"}


def test_four_fetchers_share_the_partitions(stack: Stack) -> None:
    stack.up("--scale", f"fetcher={FETCHERS}")
    job = stack.submit()
    stack.crawled(job, 0.1)
    said = stack.kafka("kafka-consumer-groups", "--describe", "--group", "odradek.fetcher", "--members", "--verbose")
    shown(said)
    members = [line.split() for line in said.splitlines() if line.startswith("odradek.fetcher")]
    stack.finished(job)
    assert sorted(int(member[4]) for member in members) == [3, 3, 3, 3]


@pytest.mark.parametrize("service", [*SERVICES, *STORES])
def test_what_is_killed_loses_nothing(stack: Stack, service: str) -> None:
    job = stack.submit(politeness=SLOW)
    pages = stack.crawled(job, 0.1)
    stack.compose("kill", "--signal", "KILL", service)
    if service != "api":
        assert stack.ask(f"/v1/jobs/{job}")["state"] == "running"
    seconds = stack.up("--no-recreate", "--scale", f"fetcher={FETCHERS}")
    shown(f"{service} killed at {pages} pages, all healthy again after {seconds:.0f} s")
    stack.finished(job)


def test_a_half_done_job_goes_on_after_down_and_up(stack: Stack) -> None:
    job = stack.submit(politeness=SLOW)
    pages = stack.crawled(job, 0.1)
    stack.compose("down")
    shown(f"down at {pages} pages; up again in {stack.up():.0f} s")
    stack.finished(job)
