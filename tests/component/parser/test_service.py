"""The whole service against a broker in this process: pages in; links, items, outcomes and dead letters out."""

import asyncio
from collections.abc import Iterator

import pytest

from odradek.contracts import (
    PAGE_HEADER,
    Batch,
    Discovered,
    FetchRequest,
    Item,
    JobRecord,
    PageMeta,
    Parsed,
    decode,
    encode,
)
from odradek.kafka.records import Record, Send
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.testing.broker import MockBroker, committed, everything_in, put
from odradek.topics import DEAD_LETTERS, FRONTIER, ITEMS, JOBS, PAGES
from odradek.urls import CrawlUrl, identify
from odradek_parser.service import serve

RULE = {"type": "book", "each": "li", "key": ["name"], "fields": {"name": {"css": "b", "required": True}}}


@pytest.fixture
def settings() -> Iterator[Settings]:
    with MockBroker() as broker:
        yield broker.settings(drain="5s")


def a_job() -> Send:
    spec = JobSpecification.parse({"seeds": ["https://books.example/"], "extract": [RULE]})
    return Send(JOBS, "j1", encode(JobRecord(job="j1", spec=spec.to_wire())))


def a_page(path: str, body: bytes | None, *, partition: int = 0, **changes: object) -> Send:
    url = identify(f"https://books.example/{path}")
    assert isinstance(url, CrawlUrl)
    request = FetchRequest(job="j1", url=url.url, fp=url.fp, key=url.key)
    given = {"request": request, "outcome": "fetched", "status": 200, "content_type": "text/html", "fetched_at_ms": 1}
    meta = PageMeta(**(given | changes))  # type: ignore[arg-type]  # a builder
    return Send(PAGES, url.fp, body, headers=((PAGE_HEADER, encode(meta)),), partition=partition)


async def parsed_with(settings: Settings, *sends: Send, facts: int) -> list[Record]:
    """The frontier, once the service has told it so many facts; the service has drained by then."""
    await asyncio.to_thread(put, settings, *sends)
    stop = asyncio.Event()
    service = asyncio.create_task(serve(settings, stop))
    try:
        for batches in range(1, facts + 1):
            found = await asyncio.to_thread(everything_in, settings, FRONTIER, at_least=batches, within_s=40)
            if len(facts_in(found)) >= facts:
                return found
        raise AssertionError(f"{len(facts_in(found))} of {facts} facts")
    finally:
        stop.set()
        await service


def facts_in(records: list[Record]) -> list[object]:
    return [fact for record in records for fact in decode(Batch, record.value or b"").facts]


async def test_pages_become_links_items_and_outcomes_and_what_is_no_page_stops_nothing(settings: Settings) -> None:
    found = await parsed_with(
        settings,
        a_job(),
        Send(PAGES, "x", b"body", headers=((PAGE_HEADER, b"{}"),), partition=0),
        a_page("1", b"<a href=/2>2</a><a href=/1>1</a><li><b>A</b><li>"),
        a_page("3", None, outcome="failed", reason="dns", status=None, content_type=None, retry_in_ms=5000),
        facts=3,
    )

    facts = facts_in(found)
    assert [fact.url for fact in facts if isinstance(fact, Discovered)] == ["https://books.example/2"]
    outcomes = {(fact.outcome, fact.reason, fact.items, fact.malformed, fact.retry_in_ms) for fact in facts
                if isinstance(fact, Parsed)}  # fmt: skip
    assert outcomes == {("fetched", None, 1, 1, None), ("failed", "dns", 0, 0, 5000)}
    kinds = [type(fact) for fact in facts if not (isinstance(fact, Parsed) and fact.outcome == "failed")]
    assert kinds == [Discovered, Parsed]
    items = await asyncio.to_thread(everything_in, settings, ITEMS, at_least=1)
    assert [decode(Item, record.value or b"").data for record in items] == [{"name": "A"}]
    letters = await asyncio.to_thread(everything_in, settings, DEAD_LETTERS, at_least=2)
    assert sorted(record.header("reason") or b"" for record in letters) == [b"malformed", b"malformed_record"]
    assert committed(settings, "parser", PAGES) == {0: 3}
