"""What the others are told of each outcome."""

import pytest

from odradek.contracts import EcsError, Hop, PageMeta, Timings
from odradek.specification import JobSpecification
from odradek.testing.records import NOW_MS, URL, a_request
from odradek_fetcher.core.answers import Answer
from odradek_fetcher.core.facts import fetch_event, fetched, page_meta
from odradek_fetcher.core.plans import plan
from odradek_fetcher.core.verdicts import Verdict

PLAN = plan(JobSpecification(), user_agent="Odradek/0.1", environ={})
TIMINGS = Timings(dns_ms=1.0, connect_ms=2.0, tls_ms=3.0, first_byte_ms=10.0, total_ms=12.0)
ANSWER = Answer(
    url=URL, status=200, body=b"<p>", timings=TIMINGS, remote_address="192.0.2.1", protocol="HTTP/2", tls_verified=False
)


def a_page(verdict: Verdict, **changes: object) -> PageMeta:
    request = a_request(chain=(Hop(url="https://books.example/old", status=301),), attempt=1, **changes)
    digest = "d" * 32 if verdict.outcome == "fetched" else None
    return page_meta(request, PLAN, ANSWER, verdict, now_ms=NOW_MS, delays_s=(5.0, 30.0), body_digest=digest)


OUTCOMES = [
    (Verdict(outcome="fetched"), "success", "fetched, 200, 3 bytes, 12 ms", None),
    (Verdict(outcome="not_modified"), "success", "not_modified, 200, 12 ms", None),
    (Verdict(outcome="redirected", location="https://a.example/"), "success",
     "redirected, 200, to https://a.example/, 12 ms", None),
    (Verdict(outcome="skipped", reason="content_type"), "success", "skipped (content_type), 200, 12 ms", None),
    (Verdict(outcome="failed", reason="reset", error="gone"), "failure", "reset: gone; again in 30 s",
     EcsError(type="reset", message="gone")),
    (Verdict(outcome="failed", reason="tls", error="no", lasting=True), "failure", "tls: no",
     EcsError(type="tls", message="no")),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "success", "message", "error"), OUTCOMES, ids=lambda value: str(value)[:40])
def test_each_outcome_is_an_event_with_all_that_is_known_of_the_try(
    verdict: Verdict, success: str, message: str, error: EcsError | None
) -> None:
    event = fetch_event(a_page(verdict), meta={"team": "a"})
    assert (event.event.action, event.event.outcome, event.event.reason, event.event.duration) == (
        "fetch", success, verdict.reason, 12_000_000
    )  # fmt: skip
    assert (event.message, event.error, event.log.level) == (message, error, "info" if error is None else "warning")
    told = event.odradek
    assert (told.outcome, told.timings, told.remote_address, told.protocol, told.tls_verified, told.attempt) == (
        verdict.outcome, TIMINGS, "192.0.2.1", "HTTP/2", False, 1
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict(outcome="fetched"), None), (Verdict(outcome="failed", reason="http_500"), None),
        (Verdict(outcome="failed", reason="soft_blocked"), "soft_blocked"),
        (Verdict(outcome="failed", reason="reset"), "reset"),
    ],
)  # fmt: skip
def test_the_frontier_is_told_a_reason_only_when_no_honest_answer_came(verdict: Verdict, reason: str | None) -> None:
    fact = fetched(a_page(verdict))
    assert (fact.fp, fact.attempt, fact.status, fact.reason, fact.duration_ms) == (
        a_request().fp, 1, 200, reason, 12.0
    )  # fmt: skip


def test_the_page_keeps_its_request_with_the_chain_of_redirects() -> None:
    page = a_page(Verdict(outcome="fetched"))
    assert page.request.chain == (Hop(url="https://books.example/old", status=301),)
    assert page.timings == TIMINGS
