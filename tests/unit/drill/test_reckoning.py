"""A round that came to what it must is good; each number that is off is told for what it is."""

from dataclasses import replace
from typing import Any

import pytest
from tests.drill.reckoning import CARDS, Expected, Found, Verdict, reckon, tally

PAGES = 4


def an_audit(**changes: Any) -> dict[str, Any]:
    outcomes = {"fetched": PAGES, "not_modified": 0, "redirected": 0, "skipped": 0, "failed": 0}
    return outcomes | {"late": 0, "balanced": True, "reasons": {}} | changes


HOSTILE = an_audit(fetched=1, failed=2, reasons={"failed": {"bomb": 1, "http_404": 1}})


def an_expectation(**changes: Any) -> Expected:
    fields: dict[str, Any] = {"pages": PAGES, "hostile": {"fetched": 1, "failed bomb": 1, "failed http_404": 1}}
    return Expected(**(fields | changes))


def an_end(**changes: Any) -> Found:
    events = {(f"/p/{page}", action, 0): 1 for page in range(PAGES) for action in ("fetch", "parse")}
    fields: dict[str, Any] = {
        "audit": an_audit(),
        "hostile_audit": HOSTILE,
        "items": PAGES * CARDS,
        "records": PAGES * CARDS,
        "events": events,
        "requests": PAGES,
    }
    return Found(**(fields | changes))


def test_what_came_to_what_it_must_is_good_however_often_it_was_done() -> None:
    end = an_end(requests=PAGES + 3, audit=an_audit(late=2))
    verdict = reckon(an_expectation(), replace(end, events={**end.events, ("/p/1", "fetch", 1): 1}))

    assert verdict == Verdict(lost=0, double_stored=0, unexplained=(), fetched_twice=3, late=2, retried=1)
    assert verdict.good


@pytest.mark.parametrize(
    ("changes", "lost", "twice"),
    [
        ({"audit": an_audit(fetched=PAGES - 1)}, 1, 0),
        ({"items": PAGES * CARDS - 2, "records": PAGES * CARDS - 2}, 2, 0),
        ({"events": {}}, 2 * PAGES, 0),
        ({"hostile_audit": an_audit(fetched=1, failed=1, reasons={"failed": {"bomb": 1}})}, 1, 0),
        ({"items": PAGES * CARDS + 1}, 0, 1),
        ({"events": {**an_end().events, ("/p/0", "parse", 0): 3}}, 0, 2),
    ],
)
def test_what_is_missing_is_lost_and_what_is_there_again_is_stored_twice(
    changes: dict[str, Any], lost: int, twice: int
) -> None:
    verdict = reckon(an_expectation(), an_end(**changes))

    assert (verdict.lost, verdict.double_stored, verdict.good) == (lost, twice, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"audit": an_audit(failed=1, reasons={"failed": {"dns": 1}})}, "failed dns 1 for 0"),
        ({"audit": an_audit(balanced=False)}, "the ledger does not balance"),
        ({"dead_letters": {"items": 1}}, "dead letters by topic are items 1 for 0"),
        ({"gaps": {"pages": 1}}, "a gap of pages is told"),
        ({"states": {"j": "running"}}, "j is running"),
        ({"strays": 1}, "1 strays"),
        ({"records": PAGES * CARDS + 1, "items": PAGES * CARDS + 1}, "13 records"),
    ],
)
def test_any_other_number_is_unexplained(changes: dict[str, Any], said: str) -> None:
    verdict = reckon(an_expectation(), an_end(**changes))

    assert (verdict.lost, verdict.double_stored) == (0, 0)
    assert said in "; ".join(verdict.unexplained)


def test_what_a_fault_leads_to_must_be_there() -> None:
    expected = an_expectation(dead_letters={"items": 2}, gaps={"pages": 1}, bad_jobs={"a": "crash", "b": "exhaust"})
    poisoned = an_audit(fetched=0, failed=1, reasons={"failed": {"poison": 1}})
    end = an_end(
        dead_letters={"items": 2, "pages": 2}, gaps={"pages": 3}, bad_audits={"a": poisoned, "b": an_audit(fetched=1)}
    )

    assert reckon(expected, end).good
    assert len(reckon(expected, an_end()).unexplained) == 4
    assert (
        "a page that does crash is"
        in reckon(expected, replace(end, bad_audits={"a": an_audit(fetched=1), "b": an_audit(fetched=1)})).unexplained[
            0
        ]
    )


def test_a_tally_tells_reasons_apart() -> None:
    assert tally(HOSTILE) == {"fetched": 1, "failed bomb": 1, "failed http_404": 1}
    assert tally(an_audit(fetched=0)) == {}
