"""Law: a reparse reads every page up to the asked offsets, once for all parsers, and touches no ledger."""

import asyncio
import time
from collections.abc import Iterator

import msgspec
import pytest
from tests.component.parser.test_service import a_job, a_page

from odradek.clock import now_ms
from odradek.contracts import Item, JobRecord, Reparse, decode, encode
from odradek.kafka.ends import Ends
from odradek.kafka.records import Send
from odradek.kafka.reparses import records_left
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, everything_in, put
from odradek.topics import FRONTIER, ITEMS, JOBS
from odradek_parser.service import serve

PAGE_COUNT = 40
PARTITIONS = 4


@pytest.fixture
def settings() -> Iterator[Settings]:
    with MockBroker() as broker:
        yield broker.settings(drain="5s")


def asked(number: int, css: str) -> Send:
    """The job's record once `number` reparses were asked for, with a rule that reads `css`."""
    record = decode(JobRecord, a_job().value or b"")
    rule = {"type": "book", "each": "li", "key": ["name"], "fields": {"name": {"css": "b"}, "more": {"css": css}}}
    each = PAGE_COUNT // PARTITIONS
    reparse = Reparse(number=number, starts=(0,) * PARTITIONS, ends=(each,) * PARTITIONS, asked_at_ms=now_ms())
    changed = msgspec.structs.replace(
        record, version=record.version + number, spec={**record.spec, "extract": [rule]}, reparse=reparse
    )
    return Send(JOBS, "j1", encode(changed))


def reparse_of(send: Send) -> Reparse:
    found = decode(JobRecord, send.value or b"").reparse
    assert found is not None
    return found


async def until_read(settings: Settings, reparse: Reparse, within_s: float = 40) -> None:
    ends, deadline = Ends(settings), time.monotonic() + within_s
    try:
        while (left := await asyncio.to_thread(records_left, ends, "j1", reparse)) > 0:
            assert time.monotonic() < deadline, f"{left} records left"
            await asyncio.sleep(0.2)
    finally:
        ends.close()


def newest(settings: Settings) -> dict[str, Item]:
    """What an indexer keeps of the items: the later reading of each."""
    kept: dict[str, Item] = {}
    for record in everything_in(settings, ITEMS):
        item = decode(Item, record.value or b"")
        if item.id not in kept or item.reparse >= kept[item.id].reparse:
            kept[item.id] = item
    return kept


async def test_pages_are_read_again_by_all_parsers_also_after_one_has_gone_and_the_frontier_hears_nothing(
    settings: Settings,
) -> None:
    pages = [
        a_page(f"{number}.html", f"<li><b>{number}</b><i>i{number}</i><u>u{number}</u>".encode(), partition=number % 4)
        for number in range(PAGE_COUNT)
    ]
    first, second = asked(1, "i"), asked(2, "u")
    await asyncio.to_thread(put, settings, a_job(), *pages, first)
    stops = [asyncio.Event(), asyncio.Event()]
    services = [asyncio.create_task(serve(settings, stop)) for stop in stops]
    try:
        await until_read(settings, reparse_of(first))
        await asyncio.to_thread(everything_in, settings, FRONTIER, at_least=1, within_s=40)
        after_first = await asyncio.to_thread(newest, settings)
        stops[0].set()
        await services[0]
        facts = len(await asyncio.to_thread(everything_in, settings, FRONTIER))

        await asyncio.to_thread(put, settings, second)
        await until_read(settings, reparse_of(second))
    finally:
        for stop in stops:
            stop.set()
        await asyncio.gather(*services)

    found = newest(settings)
    assert {item.data["more"] for item in after_first.values()} == {f"i{number}" for number in range(PAGE_COUNT)}
    assert {item.data["more"] for item in found.values()} == {f"u{number}" for number in range(PAGE_COUNT)}
    assert set(found) == set(after_first)
    assert len(everything_in(settings, FRONTIER)) == facts
