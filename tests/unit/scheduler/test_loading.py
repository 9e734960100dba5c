"""Where a run takes longest: all of its hosts are gone over now and then, however much is said of them."""

from odradek_scheduler.core.loading import EVERY_MS

from .harness import Crawl, a_job, a_link


def test_hosts_of_a_run_with_nothing_left_are_gone_over_no_oftener_than_those_of_another() -> None:
    crawl = Crawl()
    crawl.fold(a_job(schedule={"fresh_by": "08:00"}))
    crawl.fold(a_link("a"))
    for request in crawl.dispatch():
        crawl.finish(request)
    crawl.after(ms=EVERY_MS).dispatch()

    crawl.fold(a_link("a"))
    wake_ms = crawl.core.wake_at_ms(crawl.now_ms)
    assert wake_ms is not None
    assert wake_ms > crawl.now_ms
