"""Pages of recurring jobs: what is known of them afterwards, and what is told of those that are not read again."""

from typing import Any

import pytest
from tests.unit.parser.pages import URL, a_job, a_meta, a_record, a_request, a_spec
from tests.unit.parser.test_handling import a_handler, facts, sends

from odradek.contracts import PageSeen, PageVersion, Parsed, decode
from odradek.kafka.records import Done, Poison
from odradek.specification import reading_rules

HOURLY = a_job(a_spec(schedule={"every": "1h"}))
RULES = reading_rules(HOURLY.spec)
HEADERS = {"etag": '"v1"', "last-modified": "Mon, 30 Nov 2026 08:00:00 GMT"}


async def handled(run: int = 1, job: Any = HOURLY, **meta: Any) -> Done | Poison:
    body = "<a href=/n>n</a>" if meta.get("outcome", "fetched") == "fetched" else None
    [done] = await a_handler(job).handle([a_record(body, a_meta(request=a_request(run=run), **meta))])
    return done


def outcome(done: Done | Poison) -> Parsed:
    [found] = [fact for fact in facts(done) if isinstance(fact, Parsed)]
    return found


def pages_seen(done: Done | Poison) -> list[PageSeen]:
    return [decode(PageSeen, send.value) for send in sends(done, "items") if send.key.startswith("j1:@")]


async def test_what_a_page_is_now_is_told_with_its_outcome() -> None:
    done = await handled(headers=HEADERS, digest="d1")
    assert outcome(done).version == PageVersion(
        rules=RULES, digest="d1", etag='"v1"', last_modified="Mon, 30 Nov 2026 08:00:00 GMT"
    )


async def test_of_a_job_without_a_schedule_nothing_is_told() -> None:
    done = await handled(job=a_job(), run=2, headers=HEADERS, digest="d1")
    assert outcome(done).version is None


@pytest.mark.parametrize("changes", [{"truncated": True}, {"headers": {"etag": "x" * 201}}])
async def test_what_says_little_or_is_too_long_is_left_out(changes: dict[str, Any]) -> None:
    version = outcome(await handled(digest="d1", **changes)).version
    assert version is not None
    assert (version.digest is None, version.etag) == ("truncated" in changes, None)


async def test_a_page_that_has_not_changed_is_kept_and_its_items_are_told_to_stand() -> None:
    done = await handled(run=2, outcome="not_modified", status=304, headers=HEADERS)
    assert (outcome(done).kept, outcome(done).outcome, outcome(done).items) == (True, "not_modified", 0)
    assert pages_seen(done) == [PageSeen(job="j1", url=URL, run=2, at_ms=1_700_000_000_000)]
    assert sends(done, "logs") == []
    assert len(facts(done)) == 1


@pytest.mark.parametrize(("reason", "retry", "told"), [("http_404", None, True), ("http_410", None, True),
                                                      ("http_503", None, False), ("http_404", 500, False)])  # fmt: skip
async def test_a_page_that_is_not_there_any_more_is_told_once_it_is_final(
    reason: str,
    retry: int | None,
    told: bool,  # noqa: FBT001  (a case)
) -> None:
    done = await handled(run=2, outcome="failed", reason=reason, status=404, retry_in_ms=retry)
    missing = PageSeen(job="j1", url=URL, run=2, missing=True, at_ms=1_700_000_000_000)
    assert pages_seen(done) == ([missing] if told else [])


async def test_nothing_is_told_of_the_first_run_which_has_no_items_before_it() -> None:
    assert pages_seen(await handled(run=1, outcome="failed", reason="http_404", status=404)) == []


def test_rules_tell_apart_what_is_read_otherwise_and_nothing_else() -> None:
    def of(**spec: Any) -> str:
        return reading_rules(a_spec(**spec).to_wire())

    assert of() == of(scope={"max_pages": 9}, name="x", politeness={"delay": 3}, priority=9)
    different = [of(), of(extract=[]), of(scope={"exclude": ["x"]}), of(scope={"max_depth": 3}), of(meta={"a": 1}),
                 of(politeness={"respect_robots": False}), of(items={"collection": "books"})]  # fmt: skip
    assert len(set(different)) == len(different)
