"""Each rest of each run is counted once, also when two runs come to the same numbers."""

import asyncio

from tests.unit.scheduler.harness import NOW_MS, Crawl, a_job, a_link

from odradek.contracts import Progress, Reached
from odradek_scheduler.owned import Owned
from odradek_scheduler.recounting import QUIET_MS, Recounts


def reported(crawl: Crawl) -> Progress:
    (report,) = crawl.core.progress(crawl.now_ms)
    return report


async def counted(recounts: Recounts, owned: Owned, report: Progress) -> bool:
    await recounts.look([(owned, report)])
    await asyncio.sleep(2 * QUIET_MS / 1000)
    return await recounts.look([])


async def test_a_run_that_comes_to_the_numbers_of_the_one_before_is_counted_all_the_same() -> None:
    crawl = Crawl()
    crawl.fold(a_job(schedule={"every": "1h"}), a_link("a", seed=True))
    recounts, owned = Recounts(), Owned(0, crawl.core)
    for run in (1, 2):
        (request,) = crawl.dispatch()
        crawl.finish(request)
        report = reported(crawl)
        assert await counted(recounts, owned, report)
        again = reported(crawl)
        assert (again.run, again.recount is not None, again.counters) == (run, True, report.counters)
        assert not await counted(recounts, owned, again)
        crawl.core.ended(Reached(job="j", state="complete", epoch=1, run=run, at_ms=NOW_MS))
        crawl.dispatch()
        crawl.core.progress(crawl.now_ms)
        crawl.now_ms = NOW_MS + run * 3_600_000


async def test_a_count_that_could_not_be_made_is_made_later() -> None:
    """The partition has begun to recover meanwhile."""
    crawl = Crawl()
    crawl.fold(a_job(), a_link("a", seed=True))
    crawl.finish(*crawl.dispatch())
    recounts, owned = Recounts(), Owned(0, crawl.core)
    report = reported(crawl)
    crawl.core.catch_up_to(crawl.offset + 1)
    assert not await counted(recounts, owned, report)
    crawl.fold(a_link("other", job="k"))

    assert await counted(recounts, owned, reported(crawl))
