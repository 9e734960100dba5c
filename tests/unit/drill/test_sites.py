"""The growing site: every page that was linked is found by whoever follows all links, whatever is asked twice."""

import re

from tests.drill.clock import crawl_through_jumps
from tests.drill.sites import HOSTILE, OPEN_PAGES, GrowingSite
from tests.drill.topics import pruned

from odradek.contracts import encode
from odradek.testing.records import a_page


def asked(site: GrowingSite, page: int) -> tuple[bytes, set[int]]:
    answer = site.answer("127.0.0.11", f"/p/{page}.html")
    return answer, {int(found) for found in re.findall(rb'href="[^"]*/p/(\d+)\.html"', answer)}


def test_following_all_links_finds_every_page_once_it_grows_no_more() -> None:
    site, found = GrowingSite(), {0}
    visited = set[int]()
    while found - visited:
        page = min(found - visited)
        found |= asked(site, page)[1]
        visited.add(page)
        site.closed = site.closed or len(visited) == 500

    assert found == set(range(site.linked))
    assert 500 + OPEN_PAGES * 0.9 < site.linked < 500 + OPEN_PAGES * 1.1
    assert site.served == site.linked
    assert site.waiting() == set()


def test_a_page_is_the_same_whenever_it_is_asked_for() -> None:
    site = GrowingSite()
    first, _ = asked(site, 0)
    site.closed = True

    assert asked(site, 0)[0] == first
    assert (site.seen.pages().total(), site.served) == (2, 1)


def test_hosts_with_pages_to_give_are_told() -> None:
    site = GrowingSite()
    asked(site, 0)

    assert site.waiting() == {f"127.0.0.{11 + page}" for page in range(1, 6)}


def test_the_hostile_cases_ask_for_no_rest_and_say_nothing_of_their_host() -> None:
    assert len(HOSTILE) > 30
    assert {each.reason for each in HOSTILE.values()} & {"reset", "timeout_read", "timeout_total", "connect"} == set()


def test_an_old_form_has_what_the_first_version_had() -> None:
    page = {
        "request": {"job": "j", "url": "u", "tomorrow": 1},
        "status": 200,
        "timings": {"tls_ms": 1.0, "total_ms": 2},
    }

    assert pruned("PageMeta", page | {"tomorrow": 1}) == {
        "request": {"job": "j", "url": "u"}, "status": 200, "timings": {"total_ms": 2}
    }  # fmt: skip
    assert encode(a_page())


def test_a_clock_that_jumps_costs_no_url_and_no_more_sleep_than_it_was_set_back() -> None:
    for seed in range(5):
        assert crawl_through_jumps(seed)["urls"] == 120
