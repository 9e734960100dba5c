"""robots.txt by RFC 9309 (design §3 J)."""

import pytest

from odradek.contracts import RobotsFetched
from odradek_scheduler.core.robots import (
    LEAST_AGE_MS,
    MOST_AGE_MS,
    RobotsCache,
    answer_judged,
    deciding_line,
    origin_of,
)
from odradek_scheduler.core.state import Robots

from .harness import NOW_MS, Crawl, a_job, a_link

RULES = """# for all
User-agent: *
Disallow: /private
Allow: /private/open
Crawl-delay: 7

User-agent: odradek
Disallow: /ours
"""


def a_crawl(*links: str, **politeness: object) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(politeness={"respect_robots": True, **politeness}))
    crawl.fold(*(a_link(name) for name in links))
    return crawl


def an_answer(status: int | None, text: str | None = None, **more: object) -> RobotsFetched:
    return RobotsFetched(key="a.example", origin="https://a.example", status=status, text=text, at_ms=NOW_MS, **more)  # type: ignore[arg-type]  # a builder


def test_robots_are_asked_for_first_and_once() -> None:
    crawl = a_crawl("x", "y")
    assert [(request.kind, request.url) for request in crawl.dispatch()] == [("robots", "https://a.example/robots.txt")]
    crawl.robots("")
    assert crawl.sends() == ["x", "y"]


def test_each_origin_of_a_host_has_its_own() -> None:
    crawl = a_crawl("x")
    crawl.fold(a_link("y", host="a.example").__class__(job="j", url="http://a.example/y", fp="y", key="a.example"))
    crawl.dispatch()
    crawl.robots("")
    assert [request.url for request in crawl.dispatch()] == ["https://a.example/x", "http://a.example/robots.txt"]


def test_what_is_forbidden_is_skipped_and_the_line_is_named() -> None:
    crawl = a_crawl("private", "public")
    crawl.dispatch()
    crawl.robots("User-agent: *\nDisallow: /private\n")
    assert crawl.sends() == ["public"]
    assert crawl.ledger().reasons["skipped"] == {"robots": 1}
    (event,) = crawl.events
    assert event.message == "https://a.example/robots.txt forbids it: Disallow: /private (line 2)."


def test_an_answer_that_does_not_come_is_asked_for_again_after_its_lease() -> None:
    crawl = a_crawl("x")
    crawl.dispatch()
    assert crawl.after(s=59).dispatch() == []
    assert [request.kind for request in crawl.after(s=1).dispatch()] == ["robots"]


@pytest.mark.parametrize(
    ("status", "text", "failures"),
    [
        (200, "User-agent: *", 0),
        (404, "", 0),
        (301, "", 0),
        (403, "", 0),
        (429, None, 1),
        (500, None, 1),
        (None, None, 1),
    ],
)
def test_statuses_mean_what_the_standard_says(status: int | None, text: str | None, failures: int) -> None:
    robots = Robots()
    answer_judged(robots, an_answer(status, "User-agent: *" if status == 200 else None))
    assert (robots.text, robots.failures) == (text, failures)


def test_a_known_copy_stays_when_the_site_fails() -> None:
    robots = Robots()
    answer_judged(robots, an_answer(200, RULES))
    answer_judged(robots, an_answer(503))
    assert robots.text == RULES


@pytest.mark.parametrize(
    ("max_age_s", "age_ms"), [(None, MOST_AGE_MS), (0, LEAST_AGE_MS), (3600, 3_600_000), (10**9, MOST_AGE_MS)]
)
def test_a_copy_is_at_most_a_day_old(max_age_s: int | None, age_ms: int) -> None:
    robots = Robots()
    answer_judged(robots, an_answer(200, "", max_age_s=max_age_s))
    assert robots.expires_at_ms - NOW_MS == age_ms


def test_an_expired_copy_is_asked_for_again() -> None:
    crawl = a_crawl("x")
    crawl.dispatch()
    crawl.robots("", max_age_s=60)
    assert [request.kind for request in crawl.after(s=61).dispatch()] == ["robots"]


def test_without_an_answer_all_is_denied_and_urls_fail_in_the_end() -> None:
    crawl = a_crawl("x")
    for wait_s in (0, 10, 60, 600):
        assert [request.kind for request in crawl.after(s=wait_s).dispatch()] == ["robots"]
        crawl.robots(None, None, reason="timeout_total")
    assert crawl.after(s=60).dispatch() == []
    assert crawl.ledger().reasons["failed"] == {"robots_unavailable": 1}


def test_while_robots_do_not_answer_urls_wait() -> None:
    crawl = a_crawl("x")
    crawl.dispatch()
    crawl.robots(None, 500)
    assert crawl.dispatch() == []
    assert crawl.ledger().pending == 1
    assert [request.kind for request in crawl.after(s=10).dispatch()] == ["robots"]
    crawl.robots("")
    assert crawl.sends() == ["x"]


@pytest.mark.parametrize(("most_s", "waits_s"), [(60.0, 7), (3.0, 3)])
def test_a_crawl_delay_is_obeyed_up_to_the_most_a_job_allows(most_s: float, waits_s: int) -> None:
    crawl = a_crawl("x", "y", max_delay=most_s, concurrency_per_host=1)
    crawl.dispatch()
    crawl.robots(RULES.replace("odradek", "other"))
    assert crawl.sends() == []
    assert crawl.after(s=waits_s - 0.001).sends() == []
    (first,) = crawl.after(ms=1).dispatch()
    crawl.answer(first)
    assert crawl.sends() == []
    assert crawl.after(s=waits_s - 0.001).sends() == []
    assert crawl.after(ms=1).sends() == ["y"]


def test_a_crawl_delay_is_obeyed_by_a_new_owner_too() -> None:
    crawl = a_crawl("x", "y", concurrency_per_host=1)
    crawl.dispatch()
    crawl.robots(RULES.replace("odradek", "other"))
    assert crawl.dispatch() == []
    (first,) = crawl.after(s=7).dispatch()
    crawl.finish(first)
    crawl.restart()
    assert crawl.after(s=6.999).sends() == []
    assert crawl.after(ms=1).sends() == ["y"]


def test_a_crawl_delay_that_is_clamped_is_told_once() -> None:
    crawl = a_crawl("x", "y", max_delay=3.0, concurrency_per_host=1)
    crawl.dispatch()
    crawl.robots(RULES.replace("odradek", "other"))
    crawl.dispatch()
    for _ in range(2):
        for request in crawl.after(s=3).dispatch():
            crawl.answer(request)
    assert [event.message for event in crawl.events] == [
        "https://a.example/robots.txt asks for a crawl-delay of 7 s; politeness.max_delay clamps it to 3 s."
    ]
    (report,) = crawl.core.host_reports(crawl.now_ms)
    assert (report.crawl_delay_ms, report.delay_ms, report.clamped) == (
        7000,
        3000,
        "robots.txt asks for 7 s between requests; politeness.max_delay clamps it to 3 s.",
    )


@pytest.mark.parametrize(
    ("path", "agent", "state"),
    [
        ("/", "odradek", "allowed"),
        ("/ours", "odradek", "denied"),
        ("/private", "odradek", "allowed"),
        ("/private", "Mozilla/5.0", "denied"),
        ("/private/open", "Mozilla/5.0", "allowed"),
    ],
)
def test_a_group_that_names_the_agent_goes_before_the_group_for_all(path: str, agent: str, state: str) -> None:
    robots = Robots()
    answer_judged(robots, an_answer(200, RULES))
    robots.offset = 1
    url = f"https://a.example{path}"
    assert RobotsCache().verdict("https://a.example", robots, url, (agent,), NOW_MS).state == state


def test_the_deciding_line_is_of_the_group_that_decides() -> None:
    assert deciding_line(RULES, "https://a.example/ours", ("odradek",)) == "Disallow: /ours (line 8)"
    assert deciding_line(RULES, "https://a.example/private", ("other",)) == "Disallow: /private (line 3)"
    assert deciding_line(RULES, "https://a.example/", ("other",)) is None


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example/x?y=//z", "https://a.example"),
        ("http://a.example:8080/", "http://a.example:8080"),
        ("https://[::1]:1/x", "https://[::1]:1"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin
