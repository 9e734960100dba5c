"""What stays decoded is bounded, by number and by size."""

from tests.unit.scheduler.harness import Crawl, a_job, a_link

from odradek_scheduler.core.cache import ROBOTS_MOST
from odradek_scheduler.core.politeness import MOST_CHAINS, Pace

LONG = "User-agent: *\n" + "Disallow: /a-rather-long-path-that-is-in-no-url-whatsoever\n" * 8_000


def kept(crawl: Crawl) -> int:
    return crawl.core._cache._robots_characters


def test_robots_files_that_were_told_are_forgotten_when_they_are_too_much_together() -> None:
    crawl = Crawl()
    most = 0
    for number in range(3 * ROBOTS_MOST // len(LONG)):
        crawl.robots(LONG, host=f"{number}.example", max_age_s=86_400)
        most = max(most, kept(crawl))

    assert ROBOTS_MOST / 2 < most <= ROBOTS_MOST + len(LONG)


def test_robots_files_that_are_read_again_too_and_they_decide_as_before() -> None:
    crawl = Crawl()
    hosts = ROBOTS_MOST // len(LONG) + 3
    for number in range(hosts):
        crawl.robots(LONG + "Disallow: /no\n", host=f"{number}.example", max_age_s=86_400)
    crawl.restart()
    crawl.fold(a_job(politeness={"respect_robots": True, "delay": 0.0}))
    for number in range(hosts):
        crawl.fold(a_link(f"yes{number}", f"{number}.example"))
        crawl.fold(a_link(f"no{number}", f"{number}.example"))
    sent = []
    for _ in range(hosts):
        sent += crawl.sends()
        assert kept(crawl) <= ROBOTS_MOST + 5_000_000

    assert sorted(sent) == sorted(f"yes{number}" for number in range(hosts))


def test_answers_that_nothing_was_sent_for_do_not_pile_up() -> None:
    pace = Pace()
    for now_ms in range(5 * MOST_CHAINS):
        pace.answered(1, now_ms)

    assert len(pace.rests) == MOST_CHAINS
    assert pace.free_at_ms(1, 10) == 5 * MOST_CHAINS - 1 + 10
    assert pace.free_at_ms(MOST_CHAINS, 10) == 4 * MOST_CHAINS + 10
