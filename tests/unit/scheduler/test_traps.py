"""What is taken for a trap, and what is not: by the URL itself, and by what its pattern brings."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.contracts import Batch, PatternReleased, Question
from odradek.shapes import MAX_SHAPE, pattern_of, shape
from odradek.specification.traps import Traps
from odradek.testing.site import Catalogue
from odradek_scheduler.core.quarantine import Pattern, Shelf, new_share, quarantine
from odradek_scheduler.core.traps import static_trap

from .harness import NOW_MS, Crawl, a_job, a_link

YEAR = 2026
DOCUMENTATION = Path("/usr/share/doc")
PATTERN = "a.example/list/{n}"


def trap(url: str, **limits: int | None) -> str | None:
    return static_trap(url, Traps(**limits), YEAR)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://a.example/" + "x" * 1000, "1,018 characters, more than 1,000"),
        ("https://a.example/" + "/".join(f"s{n}" for n in range(21)), "21 segments, more than 20"),
        ("https://a.example/a/b/a/c/a/d/a", "segment 'a' 4 times, more than 3"),
        ("https://a.example/x" + "/1/b2" * 4, "'1/b2' 4 times in a row"),
        ("https://a.example/?" + "&".join(f"p{n}=1" for n in range(21)), "21 parameters, more than 20"),
        ("https://a.example/events/2031/05/", "a date in 2031, more than 3 years ahead"),
        ("https://a.example/events/2031-05-17", "a date in 2031"),
        ("https://a.example/events?year=2031&month=5", "a date in 2031"),
        ("https://a.example/cal?date=20310517", "a date in 2031"),
        ("https://a.example/cal/1799/12", "a date in 1799, more than 200 years back"),
    ],
)
def test_a_trap_is_named(url: str, said: str) -> None:
    found = trap(url)
    assert found is not None
    assert said in found


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example/1851/09/18/archives/a-story.html",
        "https://news.example/2026/11/30/today",
        "https://news.example/2028/06/conference",
        "https://shop.example/list?color=red&size=m&brand=x&min=10&max=20&sort=price&page=12&view=grid",
        "https://shop.example/p/3050-12gb/8812/10",
        "https://shop.example/gpu/4070/12/",
        "https://a.example/issues/9876/03/",
        "https://docs.example/en/3/library/concurrent/futures/thread/pool/executor/submit/example.html",
        "https://java.example/org/acme/org/acme/impl/Acme.html",
        "https://tiles.example/1/1/1/1/1.html",
        "https://a.example/forum/viewtopic.php?f=12&t=34567&start=30&year=1998",
        "https://a.example/2199",
        "https://a.example/rfc/9309-2022-09",
    ],
)
def test_what_people_read_is_no_trap(url: str) -> None:
    assert trap(url) is None


def test_no_page_of_real_documentation_or_of_the_bench_site_is_a_trap() -> None:
    files = [
        path
        for name in ("python3", "python3-doc", "debian-handbook")
        for path in (DOCUMENTATION / name).rglob("*.html")
    ]
    catalogue = Catalogue()
    urls = [f"https://docs.example{path}" for path in files] + [catalogue.url(page) for page in range(catalogue.pages)]
    assert [url for url in urls if trap(url)] == []


def test_each_limit_can_be_switched_off() -> None:
    off = Traps.model_validate(dict.fromkeys(set(Traps.model_fields) - {"min_new_share"}))
    worst = "https://a.example/" + "a/" * 600 + "2031/05/?" + "&".join(f"p{n}=1" for n in range(50))
    assert static_trap(worst, off, YEAR) is None


@given(st.text(max_size=60), st.integers(1000, 9999))
def test_any_url_is_judged_the_same_twice_and_never_raises(rest: str, year: int) -> None:
    url = f"https://a.example/{rest}"
    assert static_trap(url, Traps(), year) == static_trap(url, Traps(), year)
    assert len(pattern_of(url)) <= MAX_SHAPE


@given(st.lists(st.sampled_from(["list", "7", "2024", "x9", "top-10"]), max_size=5), st.integers(0, 10**9))
def test_urls_that_differ_in_numbers_have_one_shape(segments: list[str], number: int) -> None:
    one = "https://a.example/" + "/".join([*segments, str(number)])
    other = "https://a.example/" + "/".join([*segments, str(number + 1)])
    assert shape(one) == shape(other)
    assert shape(one) is not None


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.example/list/12?sort=x&page=3", "a.example/list/{n}?page&sort"),
        ("https://a.example/s/a8f3k2l9x/", "a.example/s/{id}/"),
        ("https://a.example/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "a.example/{id}"),
        ("https://a.example:8080/c/deadbeef0123456789ab", "a.example:8080/c/{id}"),
        ("https://a.example/top-10-things", "a.example/top-{n}-things"),
        ("https://a.example/about.html", None),
    ],
)
def test_the_shape_of_a_url(url: str, found: str | None) -> None:
    assert shape(url) == found


# ---- patterns


@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=200))
def test_a_pattern_knows_what_is_new(contents: list[str]) -> None:
    pattern = Pattern("x/{n}")
    for content in contents:
        pattern.page_read(content)
    assert pattern.read == len(contents)
    assert pattern.news.count("1") <= len(set(contents))
    assert set(pattern.contents) == set(contents)
    share = new_share(pattern, 10)
    assert share is None if len(contents) < 10 else 0 <= (share or 0) <= 1


@given(st.lists(st.integers(0, 300), max_size=400))
def test_a_value_of_patterns_is_bounded_and_what_a_person_released_stays(names: list[int]) -> None:
    shelf = Shelf()
    kept = shelf.pattern("released")
    assert kept is not None
    kept.released = True
    for name in names:
        found = shelf.pattern(f"x/{name}")
        assert found is not None
        found.page_read(f"{name}")
    assert len(shelf.patterns) <= 8
    assert shelf.find("released") is kept


def a_trapped_crawl(count: int = 30, **traps: object) -> Crawl:
    """Pages of one pattern, of which all but the first show the same."""
    crawl = Crawl()
    crawl.fold(a_job(traps={"quarantine_after": 10, **traps}))
    crawl.fold(*(a_link(f"list/{number}") for number in range(count)))
    return crawl


def crawl_on(crawl: Crawl, content: str | None = None, credit: int = 1) -> int:
    """Until nothing is sent any more: how many pages were read."""
    read = 0
    while requests := crawl.dispatch(credit):
        for request in requests:
            crawl.finish(request, content=content or request.fp)
            read += 1
    return read


def test_a_pattern_that_brings_nothing_new_is_quarantined_and_its_urls_are_skipped() -> None:
    crawl = a_trapped_crawl()
    assert crawl_on(crawl, "the same") == 11
    ledger = crawl.ledger()
    assert (ledger.fetched, ledger.skipped, ledger.reasons["skipped"], ledger.pending) == (11, 19, {"trap": 19}, 0)
    assert {event.message for event in crawl.events} == {
        f"The pattern {PATTERN} is in quarantine: of its last 10 pages 0 showed anything new."
    }


def test_a_pattern_that_brings_news_is_crawled_to_its_end() -> None:
    crawl = a_trapped_crawl()
    assert crawl_on(crawl) == 30


def test_without_quarantine_nothing_is_held_back() -> None:
    crawl = a_trapped_crawl(quarantine_after=None)
    assert crawl_on(crawl, "the same") == 30


def test_seeds_are_never_trapped() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), a_link("a/b/a/c/a/d/a", seed=True), a_link("x/b/x/c/x/d/x"))
    assert [request.url for request in crawl.dispatch()] == ["https://a.example/a/b/a/c/a/d/a"]
    assert crawl.ledger().reasons == {"skipped": {"trap": 1}}


def a_release(crawl: Crawl, pattern: str = PATTERN, **more: object) -> None:
    crawl.fold(PatternReleased(job="j", key="a.example", pattern=pattern, epoch=2, at_ms=NOW_MS, **more))  # type: ignore[arg-type]  # a builder


def test_a_released_pattern_comes_back_and_stays() -> None:
    crawl = a_trapped_crawl()
    crawl_on(crawl, "the same")
    a_release(crawl)
    assert crawl.ledger().pending == 19
    assert crawl_on(crawl, "the same") == 19
    ledger = crawl.ledger()
    assert (ledger.fetched, ledger.skipped, ledger.reasons["skipped"], ledger.accepted) == (30, 0, {}, 30)
    recount = crawl.core.recount("j")
    assert recount is not None
    assert (recount.fetched, recount.accepted) == (30, 30)


def test_a_url_that_is_a_trap_by_itself_is_released_by_its_own_name() -> None:
    crawl = Crawl()
    crawl.fold(a_job(), a_link("x/b/x/c/x/d/x"))
    assert crawl.dispatch() == []
    a_release(crawl, "a.example/x/b/x/c/x/d/x")
    assert crawl.sends() == ["x"]


def test_a_release_in_ranges_opens_each_url_once() -> None:
    crawl = a_trapped_crawl()
    crawl_on(crawl, "the same")
    a_release(crawl, end="list/2")
    first = crawl.ledger().pending
    a_release(crawl, first="list/2")
    assert 0 < first < 19
    assert crawl.ledger().pending == 19


def test_too_many_queries_of_one_path_end_at_the_limit() -> None:
    crawl = Crawl()
    crawl.fold(a_job(traps={"max_queries_per_path": 5}), *(a_link(f"find?q={word}") for word in "abcdefgh"))
    assert crawl_on(crawl) == 5
    assert crawl.ledger().reasons == {"skipped": {"trap": 3}}
    a_release(crawl, "a.example/find?*")
    assert crawl_on(crawl) == 3


def test_patterns_fold_again_to_the_same_values_from_any_point() -> None:
    """Rule A: the tables may be ahead of the log that is folded again."""
    rng = random.Random(7)
    crawl = a_trapped_crawl(40)
    log: list[Batch] = []
    fold = crawl.core.fold
    crawl.core.fold = lambda batch, offset: (log.append(batch), fold(batch, offset))[1]  # type: ignore[method-assign]  # to keep the log
    crawl_on(crawl, "the same", credit=3)
    a_release(crawl)
    crawl_on(crawl, "another", credit=2)
    expected = {name: dict(values) for name, values in crawl.tables.values.items()}
    start = crawl.offset - len(log)
    for _ in range(10):
        crawl.restart()
        begin = rng.randrange(len(log))
        for place, batch in enumerate(log[begin:], begin):
            crawl.tables.write(crawl.core.fold(batch, start + place))
        for table in ("seen", "hosts", "ledger"):
            assert crawl.tables.values[table] == expected[table]  # type: ignore[index]


def test_a_job_s_quarantine_is_told_with_numbers() -> None:
    crawl = a_trapped_crawl()
    crawl_on(crawl, "the same")
    answer = crawl.core.answer(Question(id="q", kind="quarantine", job="j"), NOW_MS).body
    assert answer == {
        "patterns": [
            {
                "key": "a.example", "pattern": PATTERN, "pages": 11, "new_share": 0.0, "trapped": 19,
                "released": False,
                "quarantined": f"The pattern {PATTERN} is in quarantine: of its last 10 pages 0 showed anything new.",
            }
        ],
        "more": False,
    }  # fmt: skip


def test_explain_says_what_dispatch_decides() -> None:
    crawl = a_trapped_crawl()
    crawl_on(crawl, "the same")
    question = Question(id="q", kind="explain", job="j", url="https://a.example/list/99", key="a.example")
    traps = crawl.core.answer(question, NOW_MS).body["traps"]
    assert traps["trap"] == traps["quarantined"]
    assert (traps["pattern"], traps["trapped"]) == (PATTERN, 19)


def test_a_changed_limit_applies_at_once() -> None:
    pattern = Pattern("x/{n}", 100, "1" + "0" * 99, ["a"])
    said = [quarantine(pattern, Traps(min_new_share=share)) is not None for share in (0.005, 0.05)]
    assert said == [False, True]
