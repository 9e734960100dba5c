"""What only the owners of partitions know, asked over HTTP; and hosts."""

from typing import Any

import pytest
from tests.component.api.fakes import PARTITIONS, World

from odradek.contracts import Counters, HostChanged, HostReport, JobRecord, Progress, Question, Recount
from odradek.urls import partition_of

OWNER = partition_of("books.example", PARTITIONS)


@pytest.fixture
def world() -> World:
    world = World()
    spec = {"seeds": [{"url": "https://books.example/"}], "scope": {"exclude": ["/cart"]}}
    world.jobs.values["j"] = JobRecord(job="j", spec=spec)
    return world


async def got(world: World, path: str, **parameters: Any) -> Any:
    async with world.client() as client:
        return await client.get(path, params=parameters)


async def test_an_explanation_joins_what_the_gateway_and_the_owner_know(world: World) -> None:
    world.owners.bodies = lambda partition, question: {"state": "failed", "reason": "dns"}

    found = (await got(world, "/v1/explain", job="j", url="https://books.example/a?b=1#c")).json()

    assert (found["key"], found["refusal"], found["answered"]) == ("books.example", None, True)
    assert found["frontier"] == {"state": "failed", "reason": "dns"}
    ((partition, question),) = world.owners.asked
    assert (partition, question.kind, question.fp) == (OWNER, "explain", found["fingerprint"])
    assert found["partition"] == OWNER


async def test_without_an_answer_the_gateway_tells_what_it_knows(world: World) -> None:
    found = (await got(world, "/v1/explain", job="j", url="https://books.example/")).json()

    assert (found["answered"], found["frontier"], found["canonical"]) == (False, None, "https://books.example/")


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("https://books.example/cart/1", "excluded"),
        ("https://other.example/", "scope"),
        ("ftp://books.example/", "scheme"),
        ("nonsense", "malformed"),
        ("http://127.0.0.1/", "private_address"),
    ],
)
async def test_an_explanation_names_the_rule_that_refuses(world: World, url: str, refusal: str) -> None:
    assert (await got(world, "/v1/explain", job="j", url=url)).json()["refusal"] == refusal


def pages(partition: int, question: Question) -> dict[str, Any]:
    """Partition n has n + 1 URLs."""
    mine = [f"https://h{partition}.example/{number}" for number in range(partition + 1)]
    start = mine.index(question.after) + 1 if question.after else 0
    page = mine[start : start + question.limit]
    more = page[-1] if start + len(page) < len(mine) else None
    return {"urls": [{"url": url, "state": question.state} for url in page], "after": more}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 50])
async def test_urls_come_partition_after_partition_each_once_whatever_the_limit(world: World, limit: int) -> None:
    world.owners.bodies = pages
    found, cursor = list[str](), None
    for _ in range(10):
        page = (await got(world, "/v1/jobs/j/urls", state="failed", limit=limit, **_given(cursor))).json()
        assert len(page["data"]) <= limit
        found += [each["url"] for each in page["data"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert found == [f"https://h{part}.example/{number}" for part in range(PARTITIONS) for number in range(part + 1)]


def _given(cursor: str | None) -> dict[str, str]:
    return {} if cursor is None else {"cursor": cursor}


async def test_urls_of_a_silent_partition_are_a_503_not_a_short_list(world: World) -> None:
    world.owners.bodies = lambda partition, question: pages(partition, question) if partition == 0 else None

    answer = await got(world, "/v1/jobs/j/urls")

    assert (answer.status_code, answer.json()["title"]) == (503, "No answer")


@pytest.mark.parametrize("cursor", ["x", "9.a", "-1.a", "1"])
async def test_a_cursor_that_is_none_is_a_400(world: World, cursor: str) -> None:
    assert (await got(world, "/v1/jobs/j/urls", cursor=cursor)).status_code == 400


def counted(**counts: int) -> dict[str, Any]:
    return {"recount": {"offset": 9} | counts}


async def test_an_audit_can_be_counted_afresh(world: World) -> None:
    counters = Counters(accepted=2, fetched=2, links_found=2)
    world.progress.values["j:0"] = Progress(job="j", partition=0, offset=9, epoch=1, counters=counters)
    world.owners.bodies = lambda partition, _: counted(**({"accepted": 2, "fetched": 2} if partition == 0 else {}))

    stale = (await got(world, "/v1/jobs/j/audit")).json()
    fresh = (await got(world, "/v1/jobs/j/audit", recount=1)).json()

    assert (stale["balanced"], fresh["balanced"]) == (False, True)
    assert (fresh["accepted"], fresh["recount"]["accepted"]) == (2, 2)
    assert {question.kind for _, question in world.owners.asked} == {"recount"}


async def test_a_report_made_after_the_count_is_taken_with_its_own_count(world: World) -> None:
    def answer(partition: int, _: Question) -> dict[str, Any]:
        if partition == 0:
            counters = Counters(accepted=3, fetched=3, links_found=3)
            newer = Recount(offset=12, accepted=3, fetched=3)
            report = Progress(job="j", partition=0, offset=12, epoch=1, counters=counters, recount=newer)
            world.progress.values["j:0"] = report
        return counted(**({"accepted": 2, "fetched": 2} if partition == 0 else {}))

    world.owners.bodies = answer

    found = (await got(world, "/v1/jobs/j/audit", recount=1)).json()

    assert (found["recount"]["accepted"], found["balanced"]) == (3, True)


async def test_a_url_that_the_ledger_never_saw_is_found_by_the_recount(world: World) -> None:
    world.owners.bodies = lambda partition, question: counted(accepted=1, pending=1)

    assert (await got(world, "/v1/jobs/j/audit", recount=1)).json()["balanced"] is False


async def test_partitions_that_count_too_long_for_one_question_are_asked_again(world: World) -> None:
    def one_at_a_time(partition: int, _: Question) -> dict[str, Any] | None:
        first = min(each for each in range(PARTITIONS) if each not in done)
        if partition == first and len(world.owners.asked) > len(done):
            done.add(partition)
            return counted()
        return None

    done: set[int] = set()
    world.owners.bodies = one_at_a_time

    answer = await got(world, "/v1/jobs/j/audit", recount=1)

    assert (answer.status_code, done) == (200, set(range(PARTITIONS)))


async def test_a_recount_without_every_partition_is_a_503(world: World) -> None:
    world.owners.bodies = lambda partition, question: counted() if partition else {"recovering": True}

    answer = await got(world, "/v1/jobs/j/audit", recount=1)

    assert (answer.status_code, "partition 0" in answer.json()["detail"]) == (503, True)


async def test_hosts_are_listed_by_name_and_paged(world: World) -> None:
    for key in ("c.example", "a.example", "b.example"):
        world.reports.values[key] = HostReport(key=key, delay_ms=1000)

    first = (await got(world, "/v1/hosts", limit=2)).json()
    second = (await got(world, "/v1/hosts", limit=2, cursor=first["next_cursor"])).json()

    assert [each["key"] for each in first["data"] + second["data"]] == ["a.example", "b.example", "c.example"]
    assert (await got(world, "/v1/hosts/www.a.example")).json()["key"] == "a.example"
    assert (await got(world, "/v1/hosts/d.example")).status_code == 404


async def test_an_override_is_a_fact_for_the_owner_of_the_host(world: World) -> None:
    async with world.client() as client:
        answer = await client.put("/v1/hosts/www.books.example", json={"delay": "5s", "concurrency": 2})

    assert (answer.status_code, answer.json()) == (202, {"key": "books.example"})
    ((partition, fact),) = world.log.facts(HostChanged)
    assert isinstance(fact, HostChanged)
    assert (partition, fact.key, fact.delay_ms, fact.concurrency, fact.blocked) == (
        OWNER, "books.example", 5000, 2, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("host", "body", "field"),
    [
        ("a.example", {"delay": "soon"}, "delay"),
        ("a.example", {"block": True}, "block"),
        ("a.example", {"concurrency": 0}, "concurrency"),
        ("a b", {}, "host"),
        ("user@a.example", {}, "host"),
    ],
)
async def test_a_wrong_override_is_named(world: World, host: str, body: dict[str, Any], field: str) -> None:
    async with world.client() as client:
        answer = await client.put(f"/v1/hosts/{host}", json=body)

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert world.log.sent == []
