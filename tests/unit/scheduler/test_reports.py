"""What a partition tells of itself: progress, hosts, answers."""

from odradek.contracts import Parsed, Question, Reached, encode

from .harness import NOW_MS, Crawl, a_job, a_link


def a_crawl(*links: str, **spec: object) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(**spec))
    crawl.fold(*(a_link(name) for name in links))
    return crawl


def an_end(fp: str) -> Parsed:
    return Parsed(job="j", fp=fp, key="a.example", outcome="failed", reason="dns", at_ms=NOW_MS)


def test_a_report_carries_the_ledger_and_the_position() -> None:
    crawl = a_crawl("x", "y")
    (request, _) = crawl.dispatch()
    crawl.finish(request, items=3)
    (report,) = crawl.core.progress(NOW_MS)
    counters = report.counters
    assert (report.offset, report.in_flight, report.hosts_open) == (crawl.offset, 1, 1)
    assert (counters.accepted, counters.pending, counters.fetched, counters.items) == (2, 1, 1, 3)


def test_only_news_is_reported() -> None:
    crawl = a_crawl("x")
    assert len(crawl.core.progress(NOW_MS)) == 1
    assert crawl.core.progress(NOW_MS) == ()
    crawl.fold(a_link("other", job="k"))
    assert [report.job for report in crawl.core.progress(NOW_MS)] == ["j"]


def test_a_quiet_job_is_reported_less_often_but_in_the_end_at_the_last_position() -> None:
    crawl = a_crawl("x")
    crawl.core.progress(NOW_MS)
    crawl.fold(a_link("other", job="k"))
    assert crawl.core.progress(NOW_MS + 100)
    crawl.fold(a_link("another", job="k"))
    assert crawl.core.progress(NOW_MS + 110) == ()
    (report,) = crawl.core.progress(NOW_MS + 300)
    assert report.offset == crawl.offset


def test_of_a_job_whose_end_was_announced_only_what_happens_to_it_is_told() -> None:
    crawl = a_crawl("x")
    crawl.finish(*crawl.dispatch())
    crawl.core.progress(NOW_MS)
    crawl.core.ended(Reached(job="j", state="complete", epoch=1))
    crawl.core.progress(NOW_MS)
    crawl.fold(a_link("other", job="k"))
    assert {report.job for report in crawl.core.progress(NOW_MS + 60_000)} == set()
    crawl.fold(a_job(version=2, epoch=2), a_link("y"))
    assert [report.counters.pending for report in crawl.core.progress(NOW_MS + 60_001)] == [1]
    crawl.fold(a_link("another", job="k"))
    assert [report.job for report in crawl.core.progress(NOW_MS + 60_002)] == ["j"]


def test_after_a_take_over_jobs_with_something_pending_are_told_first_and_others_little_by_little() -> None:
    crawl = Crawl()
    for number in range(350):
        crawl.fold(a_job(f"idle-{number}"))
    crawl.fold(a_job("busy"), a_link("x", job="busy"))
    crawl.restart()
    for number in range(60):
        crawl.core.ended(Reached(job=f"idle-{number}", state="complete", epoch=1))
    told = [[report.job for report in crawl.core.progress(NOW_MS + ms)] for ms in range(5)]
    assert [len(jobs) for jobs in told] == [101, 100, 90, 0, 0]
    assert told[0][0] == "busy"


def test_a_host_with_nothing_pending_is_reported_with_the_pace_of_the_job_that_was_there() -> None:
    crawl = a_crawl("x", politeness={"delay": 5.0, "concurrency_per_host": 3})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.after(s=6).dispatch()
    (report,) = crawl.core.host_reports(crawl.now_ms)
    assert (report.delay_ms, report.concurrency) == (5000, 3)


def test_it_says_what_holds_it_back() -> None:
    crawl = a_crawl("x", "y", politeness={"delay": 5.0, "concurrency_per_host": 1})
    (request,) = crawl.dispatch()
    crawl.finish(request)
    crawl.dispatch()
    (report,) = crawl.core.progress(NOW_MS)
    assert (report.limiting, report.hosts_waiting) == ("All 1 hosts rest for their delay.", 1)
    assert report.next_due_ms == NOW_MS + 5000


def test_before_release_reports_say_so() -> None:
    crawl = Crawl(release=False)
    crawl.core.catch_up_to(2)
    crawl.fold(a_job())
    (report,) = crawl.core.progress(NOW_MS)
    assert (report.recovering, report.limiting) == (True, "It replays its log.")


def test_a_job_told_while_the_log_was_replayed_is_told_again_though_its_end_was_announced() -> None:
    crawl = a_crawl("x")
    crawl.finish(*crawl.dispatch())
    crawl.restart()
    crawl.core.catch_up_to(crawl.offset + 1)
    (report,) = crawl.core.progress(NOW_MS)
    assert report.recovering
    crawl.core.ended(Reached(job="j", state="complete", epoch=1))
    assert crawl.core.progress(NOW_MS + 1) == ()
    crawl.fold(a_link("other", job="k"))

    assert [(report.job, report.recovering) for report in crawl.core.progress(NOW_MS + 2)] == [("j", False)]
    assert crawl.core.progress(NOW_MS + 60_000) == ()


def test_a_job_that_an_owner_before_told_while_it_recovered_is_told_again_though_its_end_is_known() -> None:
    """The owner before lost the partition before it had caught up; this one knows the end from the start."""
    crawl = a_crawl("x")
    crawl.finish(*crawl.dispatch())
    crawl.restart()
    crawl.core.ended(Reached(job="j", state="complete", epoch=1))
    assert crawl.core.progress(NOW_MS) == ()

    crawl.core.ended(Reached(job="j", state="complete", epoch=1), untold=True)
    assert [(report.job, report.recovering) for report in crawl.core.progress(NOW_MS + 1)] == [("j", False)]
    crawl.core.ended(Reached(job="j", state="complete", epoch=1), untold=True)
    assert crawl.core.progress(NOW_MS + 2) == ()


def test_a_host_is_reported_when_something_was_learned_of_it() -> None:
    crawl = a_crawl("x")
    (request,) = crawl.dispatch()
    crawl.answer(request, 503)
    crawl.robots("User-agent: *")
    (report,) = crawl.core.host_reports(NOW_MS)
    assert (report.key, report.fetches, report.failures) == ("a.example", 2, 1)
    assert report.robots == {"https://a.example": "rules"}
    assert crawl.core.host_reports(NOW_MS) == ()


def test_urls_are_listed_by_state_and_reason_page_by_page() -> None:
    crawl = a_crawl(*"abcde")
    for request in crawl.dispatch():
        reason = "http_404" if request.fp in "bd" else "http_410"
        crawl.finish(request, outcome="failed", reason=reason, status=int(reason[-3:]))
    question = Question(id="q", kind="urls", job="j", state="failed", reason="http_404", limit=1)
    first = crawl.core.answer(question, NOW_MS).body
    assert ([row["url"] for row in first["urls"]], first["after"]) == (["https://a.example/b"], "b")
    question = Question(id="q", kind="urls", job="j", state="failed", reason="http_404", after="b")
    second = crawl.core.answer(question, NOW_MS).body
    assert ([row["fp"] for row in second["urls"]], second["after"]) == (["d"], None)


def test_pages_of_urls_go_on_also_where_none_of_many_is_asked_for() -> None:
    crawl = a_crawl()
    names = [f"{number:05d}" for number in range(12_000)]
    for start in range(0, len(names), 500):
        crawl.fold(*(a_link(name) for name in names[start : start + 500]))
    crawl.fold(*(an_end(name) for name in (names[7_000], names[-1])))
    found, after, pages = [], None, 0
    while pages == 0 or after is not None:
        question = Question(id="q", kind="urls", job="j", state="failed", after=after)
        body = crawl.core.answer(question, NOW_MS).body
        found += [row["fp"] for row in body["urls"]]
        assert body["after"] is None or after is None or body["after"] > after
        after, pages = body["after"], pages + 1
    assert (found, pages) == ([names[7_000], names[-1]], 3)


def test_a_recount_is_of_the_state_it_was_asked_for_whatever_is_folded_meanwhile() -> None:
    crawl = a_crawl("a", "b")
    count, asked_at = crawl.core.recounting("j"), crawl.offset
    crawl.fold(a_link("c"), an_end("a"))
    assert count is not None
    counted = count(NOW_MS)
    assert (counted.offset, counted.accepted, counted.pending, counted.failed) == (asked_at, 2, 2, 0)


def test_urls_of_a_cancelled_job_are_listed_as_skipped() -> None:
    crawl = a_crawl("a")
    crawl.fold(a_job(version=2, wanted="cancelled"))
    question = Question(id="q", kind="urls", job="j", state="skipped")
    assert [row["reason"] for row in crawl.core.answer(question, NOW_MS).body["urls"]] == ["cancelled"]


def test_explain_says_where_a_url_stands_and_what_robots_and_host_say() -> None:
    crawl = a_crawl(politeness={"respect_robots": True, "delay": 1.0})
    crawl.fold(a_link("secret"))
    crawl.dispatch()
    crawl.robots("User-agent: *\nDisallow: /secret\n")
    crawl.dispatch()
    question = Question(id="q", kind="explain", job="j", url="https://a.example/secret", fp="secret", key="a.example")
    body = crawl.core.answer(question, NOW_MS).body
    assert (body["state"], body["reason"]) == ("skipped", "robots")
    assert body["robots"] == {"state": "denied", "rule": "Disallow: /secret (line 2)"}
    assert [step["kind"] for step in body["history"]] == ["accepted", "skipped"]


def test_an_answer_can_be_encoded() -> None:
    crawl = a_crawl("a")
    for kind in ("urls", "explain", "recount", "nonsense"):
        answer = crawl.core.answer(Question(id="q", kind=kind, job="j", url="https://a.example/a"), NOW_MS)
        assert encode(answer)
