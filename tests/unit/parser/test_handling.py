import json
from collections.abc import Iterator, Sequence
from typing import Any

from bs4 import BeautifulSoup
from tests.unit.parser.pages import URL, a_job, a_meta, a_record, a_request, a_spec, the_url

from odradek.contracts import Discovered, FetchRequest, Item, JobRecord, Links, LogEvent, PageMeta, Parsed, decode
from odradek.kafka.records import Done, Poison, Record
from odradek.specification import JobSpecification
from odradek_parser.core.forwarded import Forwarded
from odradek_parser.core.parsing import Reader
from odradek_parser.handling import Handler
from odradek_parser.jobs import Readers

NOW = 1_800_000_000_000
CARD = {"type": "book", "each": "li", "fields": {"name": {"css": "b"}, "price": {"css": "i", "type": "decimal"}}}


class KnownJobs:
    def __init__(self, *jobs: JobRecord) -> None:
        self._jobs = {job.job: job for job in jobs}

    async def __call__(self, request: FetchRequest) -> JobRecord | None:
        return self._jobs.get(request.job)


def a_handler(*jobs: JobRecord, forwarded: Forwarded | None = None, plugins: tuple[str, ...] = ()) -> Handler:
    return Handler(KnownJobs(*jobs), Readers(product="odradek", plugins=plugins), forwarded, lambda: NOW)


def facts(done: Done | Poison) -> list[Any]:
    return [each.fact for stage in done.stages for each in stage.facts]


def sends(done: Done | Poison, topic: str) -> list[Any]:
    return [send for stage in done.stages for send in stage.sends if send.topic == topic]


def acknowledge(results: Sequence[Done | Poison]) -> None:
    for result in results:
        for stage in result.stages:
            if stage.acknowledged is not None:
                stage.acknowledged()


async def test_links_items_and_event_leave_before_the_outcome() -> None:
    job = a_job(a_spec(extract=[CARD], meta={"team": "x"}))
    meta = a_meta(request=a_request(depth=1, meta={"seed": 1}, attempt=2), size_bytes=99)
    record = a_record("<a href=/n>n</a><li><b>A</b><i>1,50</i>", meta)

    [done] = await a_handler(job).handle([record])

    first, second = done.stages
    target = the_url("https://books.example/n")
    assert [each.fact for each in first.facts] == [
        Discovered(job="j1", url=target.url, fp=target.fp, key="books.example", depth=2, via=URL, meta={"seed": 1})
    ]
    [item] = [decode(Item, send.value) for send in sends(done, "items")]
    assert (item.type, item.data, item.meta, item.key) == (
        "book", {"name": "A", "price": "1.50"}, {"team": "x", "seed": 1}, (URL, "0")
    )  # fmt: skip
    [event] = [decode(LogEvent, send.value) for send in sends(done, "logs")]
    assert (event.event.action, event.odradek.items, event.odradek.links) == ("parse", 1, 1)
    assert [each.fact for each in second.facts] == [
        Parsed(job="j1", fp=meta.request.fp, key="books.example", outcome="fetched", attempt=2, status=200, kept=True,
               links=Links(), items=1, size_bytes=99, fetched_at_ms=meta.fetched_at_ms, at_ms=NOW)
    ]  # fmt: skip


async def test_the_same_page_again_gives_the_same_items_in_the_same_messages() -> None:
    job, record = a_job(a_spec(extract=[CARD])), a_record("<li><b>A</b><li><b>B</b>")

    [one] = await a_handler(job).handle([record])
    [other] = await a_handler(job).handle([record])

    assert sends(one, "items") == sends(other, "items")
    assert len({send.key for send in sends(one, "items")}) == 2


async def test_the_same_key_on_two_pages_is_one_item_and_another_type_is_another() -> None:
    fields = {"name": {"css": "b"}}
    rules = [{"type": kind, "each": "li", "key": ["name"], "fields": fields} for kind in ("book", "film")]
    records = [a_record("<li><b>A</b>", a_meta(f"https://books.example/{n}")) for n in (1, 2)]

    results = await a_handler(a_job(a_spec(extract=rules))).handle(records)

    ids = [[send.key for send in sends(done, "items")] for done in results]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


async def test_a_malformed_record_is_a_dead_letter_with_reason_and_record_and_the_page_goes_on() -> None:
    record = a_record("<li><b>A</b><i>dear</i><li><b>B</b><i>2</i>", offset=7)

    [done] = await a_handler(a_job(a_spec(extract=[CARD]))).handle([record])

    [letter] = sends(done, "dead-letters")
    headers = dict(letter.headers)
    assert letter.key == "odradek.pages-3-7-book-0"
    assert (headers["reason"], headers["error"]) == (b"malformed_record", b"price: 'dear' is not a number")
    assert json.loads(letter.value) == {"type": "book", "url": URL, "position": 0, "data": {"name": "A", "price": None}}
    assert [decode(Item, send.value).data["name"] for send in sends(done, "items")] == ["B"]
    [outcome] = facts(done)
    assert (outcome.outcome, outcome.items, outcome.malformed) == ("fetched", 1, 1)


async def test_a_link_is_forwarded_once_and_dropped_only_after_kafka_has_it() -> None:
    handler = a_handler(a_job())
    pages = [a_record("<a href=/n>", a_meta(f"https://books.example/{n}")) for n in range(4)]

    first = await handler.handle(pages[:2])
    lost = await handler.handle([pages[2]])
    acknowledge([*first, *lost])
    known = await handler.handle([pages[3]])

    found = [[fact.url for fact in facts(done) if isinstance(fact, Discovered)] for done in (*first, *lost, *known)]
    assert found == [["https://books.example/n"], [], ["https://books.example/n"], []]
    assert [facts(done)[-1].links for done in known] == [Links(found=1, duplicates=1)]


async def test_another_run_of_a_job_begins_anew() -> None:
    handler = a_handler(a_job())
    acknowledge(await handler.handle([a_record("<a href=/n>")]))

    [done] = await handler.handle([a_record("<a href=/n>", a_meta(request=a_request(run=2)))])

    assert [fact.run for fact in facts(done)] == [2, 2]


async def test_a_page_that_points_to_itself_tells_nobody() -> None:
    [done] = await a_handler(a_job()).handle([a_record(f"<a href='{URL}'>")])

    assert [type(fact) for fact in facts(done)] == [Parsed]


async def test_a_failure_passes_through_with_reason_and_retry() -> None:
    meta = a_meta(outcome="failed", status=503, reason="http_503", retry_in_ms=5000)

    [done] = await a_handler(a_job()).handle([a_record(None, meta)])

    assert facts(done) == [
        Parsed(job="j1", fp=meta.request.fp, key="books.example", outcome="failed", status=503, reason="http_503",
               retry_in_ms=5000, fetched_at_ms=meta.fetched_at_ms, at_ms=NOW)
    ]  # fmt: skip
    assert sends(done, "logs") == sends(done, "items") == []


async def test_a_message_that_is_no_page_is_poison() -> None:
    record = Record(topic="odradek.pages", partition=0, offset=1, key=b"x", value=b"y", headers=(("page", b"{}"),))

    [result] = await a_handler(a_job()).handle([record])

    assert isinstance(result, Poison)
    assert (result.reason, result.stages) == ("malformed", ())


async def test_a_page_of_no_job_ends_as_poison_with_its_terminal_fact() -> None:
    [result] = await a_handler().handle([a_record("<p>")])

    assert isinstance(result, Poison)
    assert [(fact.outcome, fact.reason) for fact in facts(result)] == [("failed", "poison")]


class BreakingReader(Reader):
    def read(self, meta: PageMeta, body: bytes | None, known: Any) -> Any:
        if body is not None and b"boom" in body:
            raise RecursionError("boom")
        return super().read(meta, body, known)


class BreakingReaders(Readers):
    def reader(self, record: JobRecord) -> Reader:
        return BreakingReader(JobSpecification.from_wire(record.spec))


async def test_a_page_that_breaks_the_parser_is_poison_and_the_next_one_is_read() -> None:
    handler = Handler(KnownJobs(a_job()), BreakingReaders(product="", plugins=()), None, lambda: NOW)

    poison, done = await handler.handle([a_record("boom"), a_record("<p>", a_meta("https://books.example/2"))])

    assert isinstance(poison, Poison)
    assert (poison.reason, poison.error) == ("poison", "RecursionError: boom")
    assert [(fact.outcome, fact.reason) for fact in facts(poison)] == [("failed", "poison")]
    assert [fact.outcome for fact in facts(done)] == ["fetched"]


def two_prices(soup: BeautifulSoup, meta: PageMeta) -> Iterator[dict[str, Any]]:
    yield {"type": "price", "value": soup.find("b").get_text(), "status": meta.status}
    raise ValueError("no more")


async def test_a_plugin_reads_a_soup_when_it_is_allowed_and_spoils_only_its_own_records() -> None:
    name = f"{__name__}:two_prices"
    job = a_job(a_spec(extract=[], plugins=[name]))

    [done] = await a_handler(job, plugins=(name,)).handle([a_record("<b>7</b>")])
    [refused] = await a_handler(job).handle([a_record("<b>7</b>")])

    assert [decode(Item, send.value).data for send in sends(done, "items")] == [{"value": "7", "status": 200}]
    [letter] = sends(done, "dead-letters")
    assert dict(letter.headers)["error"] == b"the plugin fails: ValueError: no more"
    assert isinstance(refused, Poison)
    assert "add it to ODRADEK_PLUGINS" in refused.error


def test_the_memory_of_forwarded_links_is_bounded_and_keeps_what_is_asked_for() -> None:
    forwarded = Forwarded(limit=100)
    known = forwarded.of("j1", 1)
    known.acknowledged(["asked"])

    for number in range(1000):
        known.acknowledged([str(number)])
        assert "asked" in known

    assert len(forwarded) <= 100
    assert "3" not in known
    assert "asked" not in forwarded.of("j2", 1)
