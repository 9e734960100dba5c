"""A partition in numbers, counted in steps: nothing waits while a hundred thousand hosts are gone over."""

from odradek_scheduler.core.figures import HOSTS_A_STEP, Figures

from .harness import Crawl, a_job, a_link


def test_a_partition_is_counted_in_steps_of_some_hosts() -> None:
    crawl = Crawl()
    crawl.fold(a_job(politeness={"concurrency_per_host": 1}))
    hosts = 2 * HOSTS_A_STEP + 1
    crawl.fold(*(a_link(f"{number}", f"{number}.example") for number in range(hosts)))
    crawl.dispatch(credit=3)
    counting, steps = crawl.core.counting(crawl.now_ms), 0
    try:
        while True:
            next(counting)
            steps += 1
    except StopIteration as end:
        found = end.value
    expected = Figures(
        pending_urls=hosts,
        in_flight=3,
        hosts_open=hosts,
        hosts_ready=hosts - 3,
        hosts_waiting=3,
        backlog_pages=hosts - 3,
    )
    assert (expected, 2) == (found, steps)
