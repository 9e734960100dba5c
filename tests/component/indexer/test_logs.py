"""Every crawl event is one document of the search engine."""

import asyncio
import json

import pytest
from tests.component.indexer.fakes import MemorySearch, an_event, records

from odradek.contracts import encode
from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done, Poison
from odradek.stores import LIFECYCLE_POLICY, TEMPLATE
from odradek_indexer.consuming import EventRecords
from odradek_indexer.core.cap import EventCap
from odradek_indexer.logs import EventIndex


def indexing(search: MemorySearch, most: int = 0) -> EventRecords:
    return EventRecords(EventIndex(search.engine, retention_days=30, cap=EventCap(most)))


async def test_an_event_is_stored_as_it_came_under_its_own_id() -> None:
    search = MemorySearch()

    await indexing(search)(records(an_event("e1")))

    assert search.events == {"e1": json.loads(encode(an_event("e1")))}


async def test_an_event_that_is_there_already_is_success() -> None:
    search = MemorySearch()
    index, delivered = indexing(search), records(an_event("e1"), an_event("e2"))
    await index(delivered)

    assert await index(delivered) == [Done(record) for record in delivered]
    assert set(search.events) == {"e1", "e2"}


async def test_an_event_over_many_lines_is_one_event() -> None:
    search = MemorySearch()

    await indexing(search)(records(json.dumps(json.loads(encode(an_event("e1"))), indent=2).encode()))

    assert search.events == {"e1": json.loads(encode(an_event("e1")))}


async def test_what_is_refused_in_part_is_told_apart() -> None:
    search = MemorySearch()
    search.refusing = {"e2": 400}
    delivered = records(an_event("e1"), b"no json", an_event("e2"), b'{"event": {}}', an_event("e3"))

    results = await indexing(search)(delivered)

    assert set(search.events) == {"e1", "e3"}
    assert [result.reason if isinstance(result, Poison) else None for result in results] == [
        None, "undecodable", "unstorable", "undecodable", None,
    ]  # fmt: skip


@pytest.mark.parametrize("status", [429, 503])
async def test_what_is_refused_for_now_is_tried_again(status: int) -> None:
    search = MemorySearch()
    search.refusing = {"e2": status}
    index, delivered = indexing(search), records(an_event("e1"), an_event("e2"))
    with pytest.raises(InfrastructureAway, match="refused 1 events for now"):
        await index(delivered)
    assert set(search.events) == {"e1"}

    search.refusing = {}

    assert await index(delivered) == [Done(record) for record in delivered]
    assert set(search.events) == {"e1", "e2"}


async def test_an_engine_that_is_away_finishes_no_record_and_then_all() -> None:
    search = MemorySearch()
    search.away = True
    index, delivered = indexing(search), records(an_event("e1"))
    with pytest.raises(InfrastructureAway, match="Elasticsearch does not answer"):
        await index(delivered)

    search.away = False

    assert await index(delivered) == [Done(record) for record in delivered]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_an_engine_that_cannot_answer_now_is_away(status: int) -> None:
    search = MemorySearch()
    search.status = status
    index, delivered = indexing(search), records(an_event("e1"))
    with pytest.raises(InfrastructureAway, match=f"cannot answer now: {status} trouble"):
        await index(delivered)

    search.status = 0

    assert await index(delivered) == [Done(record) for record in delivered]


async def test_an_engine_whose_shard_does_not_open_is_away_and_says_why() -> None:
    search = MemorySearch()
    index, delivered = indexing(search), records(an_event("1"))
    search.without_primary = True

    with pytest.raises(InfrastructureAway, match="primary shard is not active"):
        await index(delivered)


async def test_an_engine_that_came_back_empty_gets_its_template_again_before_the_next_event() -> None:
    search = MemorySearch()
    index, more = indexing(search), records(an_event("e2"))
    await index(records(an_event("e1")))
    search.away = True
    with pytest.raises(InfrastructureAway):
        await index(more)
    search.away, search.templates, search.events = False, {}, {}

    await index(more)

    assert set(search.templates) == {TEMPLATE}
    assert set(search.events) == {"e2"}


async def test_a_request_that_is_too_large_is_halved_and_a_single_event_that_is_too_large_is_poison() -> None:
    search = MemorySearch()
    search.largest_bytes = 1000
    delivered = records(*(an_event(f"e{number}", message="x" * (2000 if number == 4 else 1)) for number in range(7)))

    results = await indexing(search)(delivered)

    assert set(search.events) == {"e0", "e1", "e2", "e3", "e5", "e6"}
    assert [type(result) for result in results] == [Done] * 4 + [Poison] + [Done] * 2


async def test_template_and_policy_are_made_before_the_first_event() -> None:
    search = MemorySearch()

    await indexing(search)(records(an_event()))

    settings = search.templates[TEMPLATE]["template"]["settings"]
    assert settings["index.lifecycle.name"] == LIFECYCLE_POLICY
    assert search.policies[LIFECYCLE_POLICY]["policy"]["phases"]["delete"]["min_age"] == "30d"


async def test_a_policy_that_somebody_changed_stays_as_it_is() -> None:
    search = MemorySearch()
    search.policies[LIFECYCLE_POLICY] = {"policy": "ours"}

    await indexing(search)(records(an_event()))

    assert search.policies == {LIFECYCLE_POLICY: {"policy": "ours"}}


async def test_an_engine_without_policies_gets_a_template_without_one() -> None:
    search = MemorySearch(lifecycle=False)

    await indexing(search)(records(an_event()))

    assert "index.lifecycle.name" not in search.templates[TEMPLATE]["template"]["settings"]


async def test_a_template_that_was_deleted_is_made_again() -> None:
    search = MemorySearch()
    index, more = indexing(search), records(an_event("e2"))
    await index(records(an_event("e1")))
    search.templates.clear()
    with pytest.raises(InfrastructureAway, match="404"):
        await index(more)

    assert await index(more) == [Done(record) for record in more]


class Embedded:
    """An engine without lifecycle policies, which forgets its last seconds when it is killed, and who writes to it."""

    def __init__(self) -> None:
        self.search, self.now = MemorySearch(lifecycle=False), 0.0
        self.index = EventRecords(
            EventIndex(self.search.engine, retention_days=30, cap=EventCap(0), clock=lambda: self.now)
        )

    async def store(self, at_s: float, *names: str) -> None:
        self.now = at_s
        await self.index(records(*map(an_event, names)))


async def test_what_a_killed_engine_forgot_is_sent_again_with_the_next_events() -> None:
    embedded = Embedded()
    await embedded.store(0, "e1", "e2")
    await embedded.store(1, "e3")
    embedded.search.kill(forgets=["e2", "e3"])

    await embedded.store(2, "e4")

    assert set(embedded.search.events) == {"e1", "e2", "e3", "e4"}


async def test_what_a_killed_engine_forgot_is_sent_again_also_if_no_event_comes() -> None:
    embedded, stop = Embedded(), asyncio.Event()
    await embedded.store(0, "e1")
    await embedded.store(1, "e2")
    embedded.search.kill(forgets=["e2"])
    embedded.now = 2

    watching = asyncio.create_task(embedded.index.watch(stop))
    async with asyncio.timeout(10):
        while "e2" not in embedded.search.events:  # noqa: ASYNC110  (the fake sets no event)
            await asyncio.sleep(0.01)
        stop.set()
        await watching


async def test_however_long_a_killed_engine_was_away_what_it_forgot_is_sent_again() -> None:
    embedded = Embedded()
    await embedded.store(0, "e1")
    await embedded.store(1, "e2")
    embedded.search.kill(forgets=["e2"])
    embedded.search.away = True
    with pytest.raises(InfrastructureAway):
        await embedded.store(2, "e3")
    embedded.search.away = False

    await embedded.store(600, "e3")

    assert set(embedded.search.events) == {"e1", "e2", "e3"}


async def test_what_is_on_disk_for_long_is_not_kept_for_sending_again() -> None:
    embedded = Embedded()
    for at_s in (0, 30, 61, 120):
        await embedded.store(at_s, f"e{at_s}")
    embedded.search.kill(forgets=["e0", "e30", "e61", "e120"])

    await embedded.store(121, "e121")

    assert set(embedded.search.events) == {"e61", "e120", "e121"}


async def test_events_that_engines_with_policies_lost_are_their_own_affair() -> None:
    search = MemorySearch()
    index = indexing(search)
    await index(records(an_event("e1")))
    search.kill(forgets=["e1"])

    await index(records(an_event("e2")))

    assert set(search.events) == {"e2"}


async def test_above_the_cap_the_oldest_events_are_deleted() -> None:
    search = MemorySearch()
    index = indexing(search, most=100)
    for start in range(0, 300, 10):
        await index(
            records(
                *(
                    an_event(f"e{number}", timestamp=f"2026-11-30T00:{number // 60:02d}:{number % 60:02d}.000Z")
                    for number in range(start, start + 10)
                )
            )
        )

    assert set(search.events) == {f"e{number}" for number in range(220, 300)}


async def test_without_a_cap_nothing_is_deleted() -> None:
    search = MemorySearch()
    index = indexing(search)
    for start in range(0, 300, 100):
        await index(records(*(an_event(f"e{number}") for number in range(start, start + 100))))

    assert len(search.events) == 300


async def test_an_engine_that_cannot_delete_now_stores_all_the_same() -> None:
    search = MemorySearch()
    search.counting = 503
    index = indexing(search, most=10)
    delivered = records(*(an_event(f"e{number}") for number in range(30)))

    assert await index(delivered) == [Done(record) for record in delivered]
    assert len(search.events) == 30
