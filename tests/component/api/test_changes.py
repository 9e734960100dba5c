"""What became of items: a piece at a time, from a cursor that stays good while a crawl runs."""

from typing import Any

import pytest
from tests.component.api.fakes import World

from odradek.contracts import ItemChanged, JobRecord, encode
from odradek.kafka.records import Send
from odradek.testing.broker import MOCK_PARTITIONS, MockBroker, put
from odradek.topics import CHANGES
from odradek_api.changing import ChangeFeed, going_on
from odradek_api.core.problems import Problem
from odradek_api.core.queries import instant_ms


def a_change(job: str, number: int) -> Send:
    item = f"{job}:{number}"
    change = ItemChanged(
        id=item, job=job, change="changed", type="book", url="https://a.example/", fields={"n": number}
    )
    return Send(CHANGES, item, encode(change), partition=number % MOCK_PARTITIONS)


def test_a_job_hears_of_its_own_items_once_each_whatever_the_size_of_the_pieces() -> None:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, *(a_change(job, number) for number in range(20) for job in ("j", "other")))
        feed, cursor, heard = ChangeFeed(settings), None, list[dict[str, Any]]()
        while True:
            found = feed.after("j", None, cursor, 3)
            heard += found["data"]
            cursor = found["next_cursor"]
            if found["at_end"]:
                break
        put(settings, a_change("j", 99))
        later = feed.after("j", None, cursor, 3)

    assert sorted(each["fields"]["n"] for each in heard) == list(range(20))
    assert {each["job_id"] for each in heard} == {"j"}
    assert [each["id"] for each in later["data"]] == ["j:99"]


@pytest.mark.parametrize("cursor", ["x", "W10", "WzEsMl0", "WyJhIl0", "!!"])
def test_a_cursor_of_another_list_is_a_problem(cursor: str) -> None:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, a_change("j", 1))
        with pytest.raises(Problem, match="not from this list"):
            ChangeFeed(settings).after("j", None, cursor, 3)


def test_a_reader_who_comes_too_late_is_told_how_much_was_deleted_meanwhile() -> None:
    assert going_on({0: 5, 1: 7}, [9, 7]) == ({0: 9, 1: 7}, 0)
    assert going_on({0: 5, 1: 7}, [2, 0]) == ({0: 5, 1: 7}, 10)


async def test_the_route_gives_pieces_and_names_what_is_wrong() -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    world.changes.told = [
        {
            "id": f"j:{n}",
            "job_id": "j",
            "change": "new",
            "type": "book",
            "url": "u",
            "run": 1,
            "fields": {},
            "before": {},
            "at_ms": n,
        }
        for n in range(5)
    ]
    async with world.client() as client:
        first = (await client.get("/v1/jobs/j/changes", params={"limit": 2})).json()
        rest = (await client.get("/v1/jobs/j/changes", params={"cursor": first["next_cursor"]})).json()
        late = (await client.get("/v1/jobs/j/changes", params={"since": "1970-01-01T00:00:00.004Z"})).json()
        wrong = await client.get("/v1/jobs/j/changes", params={"since": "2026-13-41"})
        nobody = await client.get("/v1/jobs/nobody/changes")
        world.changes.away = True
        away = await client.get("/v1/jobs/j/changes")

    assert [each["id"] for each in first["data"] + rest["data"]] == [f"j:{n}" for n in range(5)]
    assert (first["at_end"], rest["at_end"]) == (False, True)
    assert [each["id"] for each in late["data"]] == ["j:4"]
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "since")
    assert (nobody.status_code, away.status_code) == (404, 503)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("1970-01-02", 86_400_000), ("1970-01-01 00:00:01", 1000), ("1970-01-01T02:00:00+02:00", 0), ("10s", 90_000)],
)
def test_instants_are_read_as_people_write_them(text: str, ms: int) -> None:
    assert instant_ms("since", text, 100_000) == ms
