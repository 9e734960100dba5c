"""What the gateway gives the console: its files under a strict policy, and the routes that charts and lists need."""

import json
import time
from collections.abc import Sequence

import pytest
from tests.component.api.fakes import World

from odradek.contracts import Counters, HostReport, JobRecord, Progress, Reached
from odradek_api.core.problems import Problem
from odradek_api.core.trends import MOST_POINTS, Trend
from odradek_api.fresh import Fresh
from odradek_api.routes.console import POLICY
from odradek_api.routes.live import _pages, _Wanted


def a_world(*jobs: str, **environ: str) -> World:
    world = World(environ)
    for number, job in enumerate(jobs):
        world.jobs.values[job] = JobRecord(job=job, spec={}, seeded=True, created_at_ms=1000 - number)
    return world


async def test_the_console_needs_no_key_and_may_load_nothing_from_elsewhere() -> None:
    async with World({"ODRADEK_API_KEYS": f"me:{'0' * 64}"}).client() as client:
        index = await client.get("/")
        module = await client.get("/console/js/main.js")
        closed = await client.get("/v1/jobs")

    assert (index.status_code, module.status_code, closed.status_code) == (200, 200, 401)
    assert index.headers["content-security-policy"] == module.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'self'" in POLICY
    assert module.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "style=" not in index.text
    assert "<script>" not in index.text


async def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    async with World().client() as client:
        first = await client.get("/console/css/base.css")
        again = await client.get("/console/css/base.css", headers={"if-none-match": f'W/"x", {first.headers["etag"]}'})
        other = await client.get("/console/css/base.css", headers={"if-none-match": '"x"'})

    assert (again.status_code, again.content, other.status_code) == (304, b"", 200)


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "__init__.py", "js", "js/none.js", "/etc/passwd"])
async def test_only_files_of_the_console_are_served(path: str) -> None:
    async with World().client() as client:
        assert (await client.get(f"/console/{path}")).status_code == 404


def test_a_trend_is_never_longer_than_a_chart_is_wide_and_keeps_first_and_newest() -> None:
    trend = Trend()
    for second in range(100_000):
        trend.note(second * 1000, Counters(kept=second, fetched=second))
    told = trend.told()

    assert len(told) <= MOST_POINTS + 1
    assert (told[0][:2], told[-1][:2]) == ((0, 0), (99_999_000, 99_999))
    assert set(trend.rates(30)) == {1.0}


async def test_the_trend_of_a_job_that_ran_before_comes_from_its_events() -> None:
    world = a_world("j")
    world.progress.values["j"] = Reached(job="j", state="complete", epoch=1, at_ms=61_000)
    counted = [("fetched", 7), ("failed", 2)]
    outcomes = {"buckets": [{"key": name, "doc_count": count} for name, count in counted]}
    world.store.answers = lambda body: {"aggregations": {"time": {"buckets": [{"key": 10_000, "outcomes": outcomes}]}}}
    async with world.client() as client:
        found = (await client.get("/v1/jobs/j/trend")).json()

    assert found["source"] == "events"
    assert found["columns"] == ["at_ms", "kept", "fetched", "not_modified", "redirected", "skipped", "failed"]
    assert found["points"] == [[10_000, 0, 0, 0, 0, 0, 0], [11_000, 7, 7, 0, 0, 0, 2]]


async def test_latencies_are_percentiles_of_the_newest_fetches() -> None:
    world = a_world("j")
    hits = [
        {"_source": {"@timestamp": "2026-01-31T12:00:00.000Z", "event": {"duration": ms * 1_000_000}}}
        for ms in range(1, 101)
    ]
    world.store.answers = lambda body: {"hits": {"hits": [*hits, {"_source": {"@timestamp": "x", "event": {}}}]}}
    async with world.client() as client:
        found = (await client.get("/v1/jobs/j/latency")).json()
        world.store.answers = lambda body: {"hits": {"hits": []}}
        none = (await client.get("/v1/jobs/j/latency")).json()

    assert [found[name] for name in ("sample", "p50_ms", "p95_ms", "p99_ms")] == [100, 50.0, 95.0, 99.0]
    assert none == {"sample": 0, "p50_ms": None, "p95_ms": None, "p99_ms": None, "windows": []}


async def test_hosts_of_a_job_come_with_what_the_fleet_knows_of_them() -> None:
    world = a_world("j")
    world.reports.values["a.example"] = HostReport(key="a.example", delay_ms=1000)
    world.store.answers = lambda body: {
        "aggregations": {
            "hosts": {
                "buckets": [{"key": "a.example", "doc_count": 1}]
                if "failed" in json.dumps(body)
                else [{"key": "a.example", "doc_count": 9}, {"key": "b.example", "doc_count": 2}]
            }
        }
    }
    async with world.client() as client:
        data = (await client.get("/v1/jobs/j/hosts")).json()["data"]

    assert [(each["key"], each["tries"], each["failed_tries"]) for each in data] == [
        ("a.example", 9, 1), ("b.example", 2, 0),
    ]  # fmt: skip
    assert (data[0]["host"]["delay_ms"], data[1]["host"]) == (1000, None)


async def test_a_store_that_is_away_takes_charts_away_and_nothing_else() -> None:
    world = a_world("j")
    world.store.away = True
    async with world.client() as client:
        charts = [(await client.get(f"/v1/jobs/j/{name}")).status_code for name in ("trend", "latency", "hosts")]
        job = await client.get("/v1/jobs/j")

    assert (charts, job.status_code) == ([503, 503, 503], 200)
    with pytest.raises(Problem):
        world.store.search({})


async def test_all_jobs_come_in_one_stream_page_by_page_and_say_how_many_there_are() -> None:
    world = a_world("books-1", "news-2", "books-3")
    world.progress.values["books-3"] = Reached(job="books-3", state="complete", epoch=1)
    world.progress.values["news-2:0"] = Progress(
        job="news-2", partition=0, offset=1, epoch=1, counters=Counters(kept=5)
    )

    assert await first_frame(world, "") == (["books-1", "news-2", "books-3"], 3, {"running": 2, "complete": 1})
    assert await first_frame(world, "?q=BOOKS") == (["books-1", "books-3"], 2, {"running": 1, "complete": 1})
    assert await first_frame(world, "?state=complete") == (["books-3"], 1, {"running": 2, "complete": 1})
    assert await first_frame(world, "?limit=1&offset=1") == (["news-2"], 3, {"running": 2, "complete": 1})


async def test_everybody_who_watches_the_same_page_is_answered_by_one_look_at_all_jobs() -> None:
    world = a_world("j")
    looks = 0
    items = world.jobs.items

    def counted() -> Sequence[tuple[str, JobRecord]]:
        nonlocal looks
        looks += 1
        return items()

    world.jobs.items = counted  # type: ignore[method-assign]  # the fake's own way of being asked
    given = world.parts()
    before = looks
    for _ in range(100):
        stream = _pages(Asking(), given, _Wanted(None, "", 0, 50))  # type: ignore[arg-type]
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]

    assert looks - before == 1


def test_what_was_made_is_fresh_for_its_time_and_forgotten_after_it() -> None:
    fresh: Fresh[str, int] = Fresh(keep_s=0.9)
    made = iter(range(10))
    answers = [fresh.get(name, lambda: next(made), at) for name, at in [("a", 0.0), ("a", 0.8), ("b", 0.8), ("a", 0.9)]]

    assert answers == [0, 0, 1, 2]
    assert set(fresh._made) == {"a", "b"}
    fresh.get("c", lambda: 0, 9.0)
    assert set(fresh._made) == {"c"}


async def test_a_list_leaves_out_a_job_that_went_since_all_were_looked_at_and_is_made_once() -> None:
    world, asking = a_world("a", "b"), Asking()
    given = world.parts()
    given.census.get("all", given.gateway.census, time.monotonic())
    del world.jobs.values["a"]
    stream = _pages(asking, given, _Wanted(None, "", 0, 50))  # type: ignore[arg-type]
    frame = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert (json.loads(frame.split("data: ")[1])["order"], asking.looks) == (["b"], 1)


class Asking:
    """A request whose browser stays."""

    def __init__(self) -> None:
        self.looks = 0

    async def is_disconnected(self) -> bool:
        self.looks += 1
        return False


async def first_frame(world: World, query: str) -> tuple[list[str], int, dict[str, int]]:
    values = dict(each.split("=") for each in query.lstrip("?").split("&") if each)
    wanted = _Wanted(
        values.get("state"),  # type: ignore[arg-type]
        values.get("q", "").lower(), int(values.get("offset", 0)), int(values.get("limit", 50)),
    )  # fmt: skip

    stream = _pages(Asking(), world.parts(), wanted)  # type: ignore[arg-type]
    frame = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    data = json.loads(frame.split("data: ")[1])
    assert [job["job_id"] for job in data["changed"]] == data["order"]
    return data["order"], data["total"], data["counts"]
