"""Scrapy Cluster's clients move by changing an address: its requests, its limits, its replies."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.component.api.fakes import World

from odradek.contracts import Counters, Discovered, HostChanged, JobRecord, Progress
from odradek_api.core.scrapy_cluster import KEY_PREFIX

CRAWL: dict[str, Any] = {"appid": "testapp", "crawlid": "abc123", "url": "https://books.example/"}
ACTION: dict[str, Any] = {"appid": "testapp", "crawlid": "abc123", "spiderid": "link", "uuid": "someuuid"}
STATS: dict[str, Any] = {"appid": "testapp", "uuid": "someuuid"}


@pytest.fixture
def world() -> World:
    return World()


async def fed(world: World, *requests: dict[str, Any], path: str = "feed") -> list[httpx.Response]:
    async with world.client() as client:
        return [await client.post(f"/compat/scrapy-cluster/{path}", json=request) for request in requests]


def only_job(world: World) -> JobRecord:
    [record] = world.gateway.records.all()
    return record


def seeds(world: World) -> list[Any]:
    return [fact for _, fact in world.log.facts(Discovered)]


async def test_a_crawl_request_is_a_seed_of_a_job_and_has_no_reply(world: World) -> None:
    [answer] = await fed(world, CRAWL | {"priority": 70, "attrs": {"a": 1}})

    assert (answer.status_code, answer.json()) == (200, {"status": "SUCCESS", "data": None, "error": None})
    [seed] = seeds(world)
    assert (seed.url, seed.priority, seed.meta) == ("https://books.example/", 70, {"attrs": {"a": 1}})
    assert only_job(world).spec["meta"] == {
        "scrapy_cluster": {"appid": "testapp", "crawlid": "abc123", "spiderid": "link"}
    }


async def test_every_field_has_its_place(world: World) -> None:
    await fed(
        world,
        CRAWL
        | {
            "maxdepth": 2, "domain_max_pages": 50, "allowed_domains": ["books.example"], "allow_regex": ["/a"],
            "deny_regex": ["/b"], "deny_extensions": ["pdf"], "expires": 4_102_444_800, "useragent": "Bot/1",
            "cookie": "sid=1; lang=de",
        },
    )  # fmt: skip

    spec = only_job(world).spec
    assert spec["scope"] == {
        "allowed_domains": ["books.example"], "include": ["/a"], "exclude": ["/b"], "deny_extensions": ["pdf"],
        "max_depth": 2, "max_pages_per_host": 50, "sitemaps": False, "drop_query_parameters": [],
    }  # fmt: skip
    assert spec["fetch"] == {"user_agent": "Bot/1", "cookies": {"sid": "1", "lang": "de"}}
    assert spec["expires"] == "2100-01-01T00:00:00Z"


async def test_urls_of_one_crawl_with_the_same_parameters_are_one_job_and_with_others_another(world: World) -> None:
    await fed(world, CRAWL, CRAWL | {"url": "b.example/x", "priority": 9}, CRAWL | {"maxdepth": 1})

    assert len(world.gateway.records.all()) == 2
    assert [seed.url for seed in seeds(world)] == [
        "https://books.example/", "http://b.example/x", "https://books.example/",
    ]  # fmt: skip


async def test_requests_that_come_while_others_are_on_their_way_go_together(world: World) -> None:
    async with world.client() as client:
        await client.post("/compat/scrapy-cluster/feed", json=CRAWL)
        before = len(world.log.records())
        answers = await asyncio.gather(
            *(
                client.post("/compat/scrapy-cluster/feed", json=CRAWL | {"url": f"https://books.example/{n}"})
                for n in range(50)
            )
        )

    assert {answer.status_code for answer in answers} == {200}
    assert len({seed.url for seed in seeds(world)}) == 51
    assert len(world.log.records()) - before < 20


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"appid": "ab"}, "appid"),
        ({"crawlid": "x" * 41}, "crawlid"),
        ({"priority": 0}, "priority"),
        ({"priority": 101}, "priority"),
        ({"maxdepth": 4}, "maxdepth"),
        ({"domain_max_pages": 2001}, "domain_max_pages"),
        ({"allowed_domains": ["a.example", "a.example"]}, "allowed_domains"),
        ({"useragent": "ab"}, "useragent"),
        ({"surprise": 1}, "surprise"),
        ({"url": 5}, "url"),
        ({"spiderid": "wandering"}, "wandering"),
        ({"allow_regex": ["(?<=a)b"]}, "include"),
        ({"url": "ftp://a.example/"}, "only http and https"),
        ({"url": "http://10.0.0.1/"}, "private network"),
    ],
)
async def test_what_cannot_be_crawled_is_a_failure_that_says_why_instead_of_silence(
    world: World, change: dict[str, Any], said: str
) -> None:
    [answer] = await fed(world, CRAWL | change)

    wrapped = answer.json()
    assert (answer.status_code, wrapped["status"], wrapped["data"]) == (400, "FAILURE", None)
    assert said in wrapped["error"]["cause"]
    assert seeds(world) == []


async def test_a_stop_ends_every_job_of_the_crawl_and_tells_how_much_was_left(world: World) -> None:
    await fed(world, CRAWL, CRAWL | {"maxdepth": 1}, CRAWL | {"crawlid": "other"})
    for record in world.gateway.records.all():
        report = Progress(job=record.job, partition=0, offset=1, epoch=2, counters=Counters(accepted=3, pending=3))
        world.progress.values[f"{record.job}:0"] = report
    [answer, again] = await fed(world, ACTION | {"action": "stop"}, CRAWL)

    told = answer.json()["data"]
    assert told.pop("server_time") > 1_700_000_000
    assert told == {
        "action": "stop", "appid": "testapp", "crawlid": "abc123", "spiderid": "link", "total_purged": 6,
        "uuid": "someuuid",
    }  # fmt: skip
    assert sorted(record.wanted for record in world.gateway.records.all()) == ["cancelled", "cancelled", "running"]
    assert (again.status_code, again.json()["status"]) == (400, "FAILURE")


async def test_info_about_a_crawl_counts_what_is_pending_by_domain(world: World) -> None:
    await fed(world, CRAWL | {"expires": 4_102_444_800})
    report = Progress(job=only_job(world).job, partition=0, offset=1, epoch=2, counters=Counters(pending=3))
    world.progress.values[f"{report.job}:0"] = report
    rows = [("https://www.a.example/", 10), ("https://a.example/2", 70), ("https://b.example/", 5)]
    world.owners.bodies = lambda partition, question: {
        "urls": [{"url": url, "priority": priority} for url, priority in rows] if partition == 0 else [],
        "after": None,
    }
    [of_crawl, of_app] = await fed(world, ACTION | {"action": "info"}, _without(ACTION, "crawlid") | {"action": "info"})

    domains = {
        "a.example": {"total": 2, "high_priority": 70, "low_priority": 10},
        "b.example": {"total": 1, "high_priority": 5, "low_priority": 5},
    }
    told = of_crawl.json()["data"]
    assert told.pop("server_time")
    assert told == {
        "uuid": "someuuid", "appid": "testapp", "crawlid": "abc123", "spiderid": "link", "total_pending": 3,
        "total_domains": 2, "expires": "4102444800", "domains": domains,
    }  # fmt: skip
    told = of_app.json()["data"]
    assert told.pop("server_time")
    assert told == {
        "uuid": "someuuid", "appid": "testapp", "spiderid": "link", "total_pending": 3, "total_domains": 2,
        "total_crawlids": 1,
        "crawlids": {"abc123": {"total": 3, "distinct_domains": 2, "expires": "4102444800", "domains": domains}},
    }  # fmt: skip


def _without(request: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key != name}


async def test_info_about_millions_of_urls_tells_the_totals_and_asks_nobody(world: World) -> None:
    await fed(world, CRAWL)
    job = only_job(world).job
    counters = Counters(pending=2_000_000)
    report = Progress(job=job, partition=0, offset=1, epoch=2, counters=counters, hosts_open=400)
    world.progress.values[f"{job}:0"] = report
    [answer] = await fed(world, ACTION | {"action": "info"})

    told = answer.json()["data"]
    assert (told["total_pending"], told["total_domains"], told["domains"]) == (2_000_000, 400, {})
    assert world.owners.asked == []


@pytest.mark.parametrize(
    ("stats", "members"),
    [
        ("kafka-monitor", {"nodes", "total", "fail", "plugins"}),
        ("redis-monitor", {"nodes", "total", "fail", "plugins"}),
        ("rest", {"nodes"}),
        ("queue", {"queues"}),
        ("spider", {"spiders"}),
        ("machine", {"machines"}),
        ("crawler", {"spiders", "machines", "queue", "queues"}),
        ("all", {"kafka-monitor", "redis-monitor", "crawler", "rest"}),
    ],
)
async def test_statistics_have_the_members_that_clients_read(world: World, stats: str, members: set[str]) -> None:
    [answer] = await fed(world, STATS | {"stats": stats})

    told = answer.json()["data"]
    assert set(told) == members | {"stats", "appid", "uuid", "server_time"}
    assert (told["stats"], told["uuid"]) == (stats, "someuuid")


@pytest.mark.parametrize(
    ("request_", "delay_ms", "blocked"),
    [
        ({"action": "domain-update", "hits": 10, "window": 60}, 6000, False),
        ({"action": "domain-update", "hits": 10, "window": 60, "scale": 0.5}, 12_000, False),
        ({"action": "domain-update", "hits": 0, "window": 60}, None, True),
        ({"action": "domain-remove"}, None, False),
        ({"action": "blacklist-update"}, None, True),
        ({"action": "blacklist-remove"}, None, False),
    ],
)
async def test_a_zookeeper_request_changes_a_host_for_the_whole_fleet(
    world: World, request_: dict[str, Any], delay_ms: int | None, *, blocked: bool
) -> None:
    [answer] = await fed(world, STATS | {"domain": "books.example"} | request_)

    assert (answer.status_code, answer.json()["data"]["domain"]) == (200, "books.example")
    [(_, fact)] = world.log.facts(HostChanged)
    assert isinstance(fact, HostChanged)
    assert (fact.key, fact.delay_ms, fact.blocked) == ("books.example", delay_ms, blocked)


async def test_there_is_never_a_reply_to_poll_for(world: World) -> None:
    [answer] = await fed(world, {"poll_id": "someuuid"}, path="poll")

    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "Could not find matching poll_id")


async def test_its_index_says_how_the_service_is(world: World) -> None:
    async with world.client() as client:
        answer = await client.get("/compat/scrapy-cluster/")

    assert set(answer.json()) == {"kafka_connected", "redis_connected", "uptime_sec", "my_id", "node_health"}
    assert answer.json()["node_health"] == "GREEN"


async def test_kafka_away_is_a_failure_of_the_server(world: World) -> None:
    world.log.away_after = 0
    [answer] = await fed(world, CRAWL)

    assert (answer.status_code, answer.json()["status"]) == (500, "FAILURE")


async def test_two_applications_with_one_crawlid_do_not_meet(world: World) -> None:
    await fed(world, CRAWL, CRAWL | {"appid": "another"})

    assert len(world.gateway.records.all()) == 2
    assert all((record.idempotency_key or "").startswith(KEY_PREFIX) for record in world.gateway.records.all())
