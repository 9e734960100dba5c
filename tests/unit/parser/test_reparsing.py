import json
from typing import Any

from tests.unit.parser.pages import URL, a_job, a_meta, a_record, a_request, a_spec

from odradek.contracts import Item, Reparse, decode
from odradek.kafka.records import Done, Poison, Record
from odradek_parser.guard import NoGuard
from odradek_parser.jobs import Readers
from odradek_parser.reparsing import Rereading

NOW = 1_800_000_000_000
HERE = (0, 0, 0, 100)
"""The page builder puts records into partition 3."""


def a_rereading(*, ends: tuple[int, ...] = HERE, guard: NoGuard | None = None, **spec: Any) -> Rereading:
    reparse = Reparse(number=2, starts=(0, 0, 0, 0), ends=ends, asked_at_ms=1)
    job = a_job(a_spec(**spec), reparse=reparse)
    return Rereading(job, Readers(product="odradek", plugins=()), guard=guard, clock=lambda: NOW)


def items(done: Done | Poison) -> list[Item]:
    return [decode(Item, send.value or b"") for stage in done.stages for send in stage.sends if send.topic == "items"]


def rule(css: str, **field: Any) -> dict[str, Any]:
    return {"type": "book", "each": "li", "key": ["name"], "fields": {"name": {"css": css, **field}}}


async def test_a_page_gives_the_records_of_the_new_rules_and_neither_links_nor_outcome_nor_event() -> None:
    page = a_record("<a href=/n>n</a><li><b>A</b><i>B</i>")

    [done] = await a_rereading(extract=[rule("i")]).handle([page])

    assert [(item.data, item.reparse, item.fetched_at_ms) for item in items(done)] == [
        ({"name": "B"}, 2, 1_700_000_000_000)
    ]
    assert [send.topic for stage in done.stages for send in stage.sends] == ["items"]
    assert [stage.facts for stage in done.stages] == [()]


async def test_reading_the_same_page_twice_gives_the_same_messages() -> None:
    page, rereading = a_record("<li><b>A</b><li><b>B</b>"), a_rereading(extract=[rule("b")])

    assert await rereading.handle([page]) == await rereading.handle([page])


async def test_pages_of_other_jobs_later_ones_and_what_is_no_kept_page_pass() -> None:
    html = "<li><b>A</b>"
    others = [
        a_record(html, a_meta(request=a_request(job="j2"))),
        a_record(html, offset=100),
        a_record(None, a_meta(outcome="failed", reason="dns")),
        a_record(html, a_meta(outcome="redirected", status=302)),
        a_record(html, a_meta(request=a_request(kind="sitemap"))),
        Record(topic="odradek.pages", partition=3, offset=5, key=b"x", value=b"y", headers=(("page", b"{}"),)),
        Record(topic="odradek.pages", partition=9, offset=5, key=b"x", value=b"y"),
    ]

    assert await a_rereading(extract=[rule("b")]).handle(others) == [Done(each) for each in others]


async def test_a_malformed_record_is_the_same_dead_letter_as_in_the_first_reading() -> None:
    page = a_record("<li><b>dear</b>", offset=7)

    [done] = await a_rereading(extract=[rule("b", type="decimal")]).handle([page])

    [letter] = [send for stage in done.stages for send in stage.sends]
    assert (letter.topic, letter.key) == ("dead-letters", "odradek.pages-3-7-book-0")
    assert json.loads(letter.value or b"")["url"] == URL


class Condemning(NoGuard):
    def condemned(self, record: Record) -> bool:
        return record.offset == 1


async def test_a_page_that_killed_the_parser_twice_is_not_read_again() -> None:
    pages = [a_record("<li><b>A</b>", offset=offset) for offset in (1, 2)]

    condemned, read = await a_rereading(guard=Condemning(), extract=[rule("b")]).handle(pages)

    assert isinstance(condemned, Poison)
    assert len(items(read)) == 1


async def test_a_plugin_that_is_not_allowed_makes_poison_without_a_terminal_fact() -> None:
    [poison] = await a_rereading(extract=[], plugins=["some.module:function"]).handle([a_record("<p>")])

    assert isinstance(poison, Poison)
    assert "add it to ODRADEK_PLUGINS" in poison.error
    assert poison.stages == ()
