"""Sitemaps that robots.txt names: handed to a job once, outside its counters and limits, and waited for."""

from odradek.contracts import Discovered, Question, RetryAsked, RobotsFetched, RunDue, SkipRest
from odradek_scheduler.core.keys import ledger_key, run_id
from odradek_scheduler.core.state import Ledger, unpack

from .harness import NOW_MS, Crawl, a_job, a_link

ROBOTS = "User-agent: *\nDisallow: /private\nSitemap: https://a.example/map.xml\nsitemap: /more.xml\n"
OBEYS = {"respect_robots": True}


def a_crawl(text: str = ROBOTS, **spec: object) -> Crawl:
    crawl = Crawl()
    crawl.fold(a_job(politeness=OBEYS, **spec), a_link("page", seed=True, site="a.example"))
    crawl.dispatch()
    crawl.robots(text)
    return crawl


def sitemap_ledger(crawl: Crawl, run: int = 1) -> Ledger:
    value = crawl.tables.get("ledger", ledger_key(run_id("j", -run)))
    return Ledger() if value is None else unpack(Ledger, value)


def test_sitemaps_of_robots_txt_are_asked_for_beside_the_pages() -> None:
    requests = a_crawl().dispatch()
    asked = {(request.kind, request.url, request.run, request.site, request.via) for request in requests}
    via = "https://a.example/robots.txt"
    assert asked == {
        ("page", "https://a.example/page", 1, "a.example", None),
        ("sitemap", "https://a.example/map.xml", 1, "a.example", via),
        ("sitemap", "https://a.example/more.xml", 1, "a.example", via),
    }


def test_sitemaps_are_outside_the_job_s_ledger_and_limits() -> None:
    crawl = a_crawl(scope={"max_pages": 1, "max_pages_per_host": 1})
    kinds = sorted(request.kind for request in crawl.dispatch())
    assert kinds == ["page", "sitemap", "sitemap"]
    assert (crawl.ledger().accepted, sitemap_ledger(crawl).accepted, sitemap_ledger(crawl).pending) == (1, 2, 2)


def test_a_job_waits_for_its_sitemaps() -> None:
    crawl = a_crawl()
    for request in crawl.dispatch():
        if request.kind == "page":
            crawl.finish(request)
    (report,) = crawl.core.progress(crawl.now_ms)
    assert (report.counters.pending, report.sitemaps, report.limiting) == (
        0, {"accepted": 2, "pending": 2}, "It waits for 2 sitemaps.",
    )  # fmt: skip


def ended(crawl: Crawl, **more: object) -> None:
    for request in crawl.dispatch():
        crawl.finish(request, **more)


def test_an_outcome_ends_a_sitemap_and_frees_its_host() -> None:
    crawl = a_crawl()
    ended(crawl)
    (report,) = crawl.core.progress(crawl.now_ms)
    assert report.sitemaps == {"accepted": 2, "fetched": 2}
    assert (crawl.core.outstanding, crawl.ledger().fetched) == (0, 1)


def test_a_sitemap_that_fails_is_tried_again() -> None:
    crawl = a_crawl()
    ended(crawl, outcome="failed", reason="http_503", retry_in_ms=1000)
    again = [(request.kind, request.attempt) for request in crawl.after(s=2).dispatch() if request.kind == "sitemap"]
    assert again == [("sitemap", 1), ("sitemap", 1)]


def test_retry_failed_asks_for_failed_sitemaps_again() -> None:
    crawl = a_crawl()
    ended(crawl, outcome="failed", reason="http_404")
    crawl.fold(RetryAsked(job="j", epoch=2))
    assert sorted(request.kind for request in crawl.after(s=2).dispatch()) == ["page", "sitemap", "sitemap"]
    assert (sitemap_ledger(crawl).failed, sitemap_ledger(crawl).pending) == (0, 2)


def test_sitemaps_are_handed_over_once_for_each_run_also_after_a_take_over() -> None:
    crawl = a_crawl()
    ended(crawl)
    crawl.restart()
    crawl.fold(a_link("other", site="a.example"))
    assert [request.kind for request in crawl.after(s=5).dispatch()] == ["page"]
    crawl.fold(RunDue(job="j", run=2), a_link("page", run=2))
    kinds = sorted(request.kind for request in crawl.after(s=5).dispatch())
    assert kinds == ["page", "page", "sitemap", "sitemap"]


def test_a_sitemap_that_was_out_at_a_take_over_is_asked_for_again_after_its_lease() -> None:
    crawl = a_crawl()
    crawl.dispatch()
    crawl.restart()
    kinds = sorted(request.kind for request in crawl.after(s=100).dispatch())
    assert kinds == ["page", "sitemap", "sitemap"]


def test_a_lost_listing_is_told_again() -> None:
    crawl = a_crawl()
    lost = crawl.core.dispatch(crawl.now_ms, 10)
    assert [type(fact).__name__ for _, fact in lost.facts] == ["SitemapsListed"]
    assert (lost.requests, crawl.core.dispatch(crawl.now_ms, 10).requests) == ((), ())
    kinds = sorted(request.kind for request in crawl.after(s=31).dispatch())
    assert kinds == ["page", "sitemap", "sitemap"]


def test_a_listing_folded_again_tells_the_same_again() -> None:
    crawl = a_crawl()
    (_, listing), *_ = crawl.core.dispatch(crawl.now_ms, 10).facts
    crawl.fold(listing)
    crawl.offset -= 2
    crawl.fold(listing)
    assert sitemap_ledger(crawl).accepted == 2


def test_a_sitemap_on_another_host_belongs_to_the_queue_of_that_host() -> None:
    crawl = a_crawl("Sitemap: https://cdn.other.example/map.xml\n")
    requests = {request.kind: request for request in crawl.dispatch()}
    assert set(requests) == {"page", "robots"}
    assert (requests["robots"].url, requests["robots"].run) == ("https://cdn.other.example/robots.txt", 1)
    there = RobotsFetched(key="other.example", origin="https://cdn.other.example", status=404, at_ms=crawl.now_ms)
    crawl.fold(there)
    assert [(request.kind, request.key) for request in crawl.dispatch()] == [("sitemap", "other.example")]


def test_what_robots_txt_forbids_is_not_fetched_as_a_sitemap_either() -> None:
    crawl = a_crawl("User-agent: *\nDisallow: /map\nSitemap: https://a.example/map.xml\n")
    assert [request.kind for request in crawl.dispatch()] == ["page"]
    assert sitemap_ledger(crawl).reasons == {"skipped": {"robots": 1}}


def test_a_job_without_sitemaps_or_without_robots_asks_for_none() -> None:
    crawl = a_crawl(scope={"sitemaps": False})
    assert [request.kind for request in crawl.dispatch()] == ["page"]
    crawl = Crawl()
    crawl.fold(a_job(), a_link("page"))
    assert [request.kind for request in crawl.dispatch()] == ["page"]


def test_a_page_that_robots_txt_forbids_leads_to_its_sitemaps_all_the_same() -> None:
    crawl = Crawl()
    crawl.fold(a_job(politeness=OBEYS), a_link("private"))
    crawl.dispatch()
    crawl.robots(ROBOTS)
    assert sorted(request.kind for request in crawl.dispatch()) == ["sitemap", "sitemap"]


def test_what_ends_a_job_ends_its_sitemaps() -> None:
    ends = {"refused": a_job(version=2, wanted="cancelled"), "skipped": SkipRest(job="j")}
    for outcome, end in ends.items():
        crawl = a_crawl()
        crawl.dispatch()
        crawl.fold(end)
        assert sitemap_ledger(crawl).pending == 0
        late = Discovered(job="j", url="https://a.example/x.xml", fp="x", key="a.example", run=-1)
        crawl.fold(late)
        reasons = sitemap_ledger(crawl).reasons
        assert reasons.get("refused") == ({"late": 1} if outcome == "refused" else None)


def test_fifty_thousand_links_of_a_sitemap_are_crawled_with_what_it_said_of_them() -> None:
    crawl = a_crawl()
    crawl.dispatch()
    for start in range(0, 50_000, 500):
        crawl.fold(*(a_link(f"p{n}", depth=1, lastmod="2024-05-01") for n in range(start, start + 500)))
    assert crawl.ledger().accepted == 50_001
    answer = crawl.core.answer(Question(id="q", kind="urls", job="j", limit=1), NOW_MS).body
    assert answer["urls"][0]["lastmod"] == "2024-05-01"


def test_explain_knows_a_sitemap() -> None:
    crawl = a_crawl()
    (sitemap, *_) = [request for request in crawl.dispatch() if request.kind == "sitemap"]
    question = Question(id="q", kind="explain", job="j", url=sitemap.url, fp=sitemap.fp, key="a.example")
    found = crawl.core.answer(question, NOW_MS).body["sitemap"]
    assert (found["state"], found["url"]) == ("pending", sitemap.url)
