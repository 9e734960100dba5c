"""Outcomes, redirects, retries and soft blocks, from answers alone."""

from typing import Any

import pytest

from odradek.contracts import Hop
from odradek.specification import JobSpecification
from odradek.testing.records import URL, a_request
from odradek.urls import CrawlUrl, identify
from odradek_fetcher.core.answers import Answer, Failure, Headers, Order
from odradek_fetcher.core.following import on_the_spot
from odradek_fetcher.core.plans import Plan, order, plan
from odradek_fetcher.core.retrying import retry_after_s, retry_in_ms
from odradek_fetcher.core.soft_blocks import RUN, SameBodies, challenge, may_be_blocked
from odradek_fetcher.core.verdicts import Verdict, judge

PLAN: Plan = plan(JobSpecification(), user_agent="Odradek/0.1", environ={})
FOUND = identify(URL)
assert isinstance(FOUND, CrawlUrl)
REQUEST = a_request(url=FOUND.url, fp=FOUND.fp)
ORDER: Order = order(REQUEST, PLAN, url=FOUND.url, host=FOUND.host, proxy=None)


def an_answer(status: int | None = 200, body: bytes | None = b"<p>hello", **changes: Any) -> Answer:
    headers = Headers(changes.pop("headers", ()))
    return Answer(url=URL, status=status, headers=headers, body=body, **changes)


def a_redirect(location: str, *cookies: str, status: int = 302) -> Answer:
    return an_answer(status, headers=[("Location", location), *(("Set-Cookie", each) for each in cookies)])


def test_a_success_is_fetched_unless_nobody_wants_its_type() -> None:
    assert judge(REQUEST, PLAN, an_answer()) == Verdict(outcome="fetched")
    assert judge(REQUEST, PLAN, an_answer(unwanted=True)) == Verdict(outcome="skipped", reason="content_type")


def test_a_failure_speaks_before_a_status() -> None:
    answer = an_answer(200, failure=Failure("reset", "gone"))
    assert judge(REQUEST, PLAN, answer) == Verdict(outcome="failed", reason="reset", error="gone")


def test_not_modified_counts_only_when_it_was_asked_for() -> None:
    assert judge(a_request(etag='"1"'), PLAN, an_answer(304)).outcome == "not_modified"
    assert judge(REQUEST, PLAN, an_answer(304)).reason == "http_304"


@pytest.mark.parametrize(
    ("known", "truncated", "expected"),
    [("d1", False, "not_modified"), ("d0", False, "fetched"), (None, False, "fetched"), ("d1", True, "fetched")],
)
def test_the_body_that_was_read_last_is_not_modified(known: str | None, truncated: bool, expected: str) -> None:  # noqa: FBT001  (a case)
    verdict = judge(a_request(digest=known), PLAN, an_answer(truncated=truncated), body_digest="d1")
    assert verdict == Verdict(outcome=expected)  # type: ignore[arg-type]  # a case


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_fact_with_an_absolute_target(status: int) -> None:
    verdict = judge(REQUEST, PLAN, a_redirect("../other?b#c", status=status))
    assert verdict == Verdict(outcome="redirected", location="https://books.example/other?b")


def test_a_chain_is_bounded_and_never_comes_back() -> None:
    hops = tuple(Hop(url=f"https://books.example/{number}", status=302) for number in range(10))
    assert judge(a_request(chain=hops), PLAN, a_redirect("/11")).reason == "redirect_limit"
    assert judge(a_request(chain=hops[:3]), PLAN, a_redirect("/2?utm_source=x")).reason == "redirect_loop"
    assert judge(a_request(chain=hops[:3]), PLAN, a_redirect("/11")).outcome == "redirected"


def test_a_redirect_to_the_same_page_is_followed_with_its_cookies() -> None:
    onward = on_the_spot(REQUEST, PLAN, ORDER, a_redirect(f"{URL}?utm_id=1#x", "a=1; Path=/; Secure", "b=2"), 0)
    assert isinstance(onward, Order)
    assert (onward.url, dict(onward.headers)["cookie"]) == (f"{URL}?utm_id=1", "a=1; b=2")


def test_a_redirect_to_the_same_page_again_and_again_is_a_loop() -> None:
    failure = on_the_spot(REQUEST, PLAN, ORDER, a_redirect(URL), 5)
    assert isinstance(failure, Failure)
    assert failure.reason == "redirect_loop"


def test_a_redirect_to_another_page_is_not_followed_here() -> None:
    assert on_the_spot(REQUEST, PLAN, ORDER, a_redirect("/other"), 0) is None


def test_robots_redirects_are_followed_five_times_and_keep_no_credentials_on_other_hosts() -> None:
    job = plan(JobSpecification.from_wire({"fetch": {"auth": {"bearer": "x"}, "cookies": {"a": "1"}}}),
               user_agent="x", environ={})  # fmt: skip
    request = a_request(kind="robots")
    first = order(request, job, url=URL, host="books.example", proxy=None)
    same = on_the_spot(request, job, first, a_redirect("/2"), 4)
    other = on_the_spot(request, job, first, a_redirect("https://other.example/robots.txt"), 0)
    over = on_the_spot(request, job, first, a_redirect("/2"), 5)
    assert isinstance(same, Order)
    assert isinstance(other, Order)
    assert isinstance(over, Failure)
    assert {"authorization", "cookie"} <= dict(same.headers).keys()
    assert not {"authorization", "cookie"} & dict(other.headers).keys()
    assert (other.host, over.reason) == ("other.example", "redirect_limit")


@pytest.mark.parametrize(
    ("reason", "attempt", "asked_s", "expected_ms"),
    [
        ("timeout_read", 0, None, 5_000), ("timeout_read", 1, None, 30_000), ("timeout_read", 2, None, 30_000),
        ("timeout_read", 3, None, None), ("http_503", 0, 2.0, 5_000), ("http_503", 0, 90.0, 90_000),
        ("http_429", 0, 1e9, 86_400_000), ("http_408", 0, None, 5_000), ("http_425", 0, None, 5_000),
        ("http_404", 0, None, None), ("http_403", 0, None, None), ("tls", 0, None, None), ("bomb", 0, None, None),
        ("decode", 0, None, None), ("private_address", 0, None, None), ("redirect_loop", 0, None, None),
        ("soft_blocked", 0, None, 5_000), ("dns", 0, None, 5_000), ("poison", 0, None, None),
    ],
)  # fmt: skip
def test_what_may_pass_is_tried_again_later(
    reason: str, attempt: int, asked_s: float | None, expected_ms: int | None
) -> None:
    found = retry_in_ms(reason, attempt=attempt, retries=3, delays_s=(5.0, 30.0), retry_after_s=asked_s)
    assert found == expected_ms


@pytest.mark.parametrize(
    ("value", "expected_s"),
    [
        (None, None), ("7", 7.0), (" 7 ", 7.0), ("-1", None), ("soon", None), ("", None), ("9" * 50, 86_400.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("1.5", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(value: str | None, expected_s: float | None) -> None:
    assert retry_after_s(value, now_ms=10_000) == expected_s


def test_a_challenge_is_known_by_what_the_protection_says_of_itself() -> None:
    assert challenge(an_answer(403, headers=[("cf-mitigated", "challenge")])) is not None
    assert challenge(an_answer(200, b"<title>Just a moment...</title><script src=/cdn-cgi/challenge-platform/>"))
    assert challenge(an_answer(403)) is None


def test_a_long_page_about_challenges_is_no_challenge() -> None:
    words = b"<title>Just a moment...</title> /cdn-cgi/challenge-platform/ " + b"<p>An article.</p>" * 5000
    assert challenge(an_answer(200, words)) is None


def noted(bodies: SameBodies, digests: list[str]) -> list[bool]:
    return [bodies.suspicious("job", "host", f"url-{place}", digest) for place, digest in enumerate(digests)]


def test_a_host_that_turns_to_one_body_for_everything_is_suspicious() -> None:
    assert noted(SameBodies(), ["a", "b", "c", *["x"] * RUN])[-2:] == [False, True]


def test_a_host_that_never_answered_anything_else_is_not() -> None:
    assert not any(noted(SameBodies(), ["x"] * 100))


def test_a_template_that_came_between_other_pages_is_not_however_long_its_run_is_later() -> None:
    assert not any(noted(SameBodies(), ["a", "b", "empty", "empty", "c", "d", *["empty"] * 100]))


def test_a_block_that_comes_back_is_suspicious_again() -> None:
    assert noted(SameBodies(), [*"abc", *["x"] * RUN, "d", *["x"] * RUN])[-2:] == [False, True]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (an_answer(headers=[("content-type", "text/html; charset=utf-8")]), True), (an_answer(), True),
        (an_answer(headers=[("content-type", "application/json")]), False), (an_answer(404), False),
        (an_answer(body=b""), False), (an_answer(unwanted=True), False),
    ],
)  # fmt: skip
def test_only_pages_are_compared(answer: Answer, expected: bool) -> None:  # noqa: FBT001  (a case)
    assert may_be_blocked(answer) is expected


def test_asking_for_one_url_again_and_again_is_not() -> None:
    bodies = SameBodies()
    noted(bodies, ["a", "b", "c"])
    assert not any(bodies.suspicious("job", "host", "same", "x") for _ in range(100))
