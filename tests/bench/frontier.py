"""`make bench-frontier`: what a URL costs one frontier partition, on RocksDB alone, by the number of URLs pending.

It should cost the same at any backlog. Printed are CPU microseconds a URL for taking it in, and for crawling it with a
new link found (dispatch, `Fetched`, `Parsed`); memory a URL; and how long the memory takes to be built at take-over.
"""

import argparse
import cProfile
import gc
import json
import pstats
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace
from tests.bench.fleet import JOB, Pending, outcome_of

from odradek.contracts import Batch, Discovered, Fact, FetchRequest, JobChanged, Reached, Ticked
from odradek.specification import JobSpecification
from odradek_scheduler.core.keys import page_key, run_id
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.state import Page, pack
from odradek_scheduler.core.tables import Write, value_offset
from odradek_scheduler.store import Stores

FACTS = 40
"""In one batch: what some crawled pages bring for one partition."""
CRAWLED = 20_000
IN_FLIGHT = 256
LOOKS = 200
MIB = 2**20


class Frontier:
    """One partition, its tables on disk, and a log that only counts."""

    def __init__(self, folder: Path) -> None:
        self.stores = Stores(folder, value_offset)
        self.offset = 0
        self.now_ms = 1_700_000_000_000
        self.start()

    def start(self) -> None:
        """A new owner of the same tables."""
        self.core = Partition(0, 1, self.stores.of(0), Limits())
        self.core.load()
        self.core.resume_at(self.offset)

    def fold(self, facts: Iterable[Fact]) -> None:
        """One batch."""
        writes = self.core.fold(Batch(facts=tuple(facts)), self.offset)
        self.stores.of(0).write(writes)
        self.offset += 1


def measured(work: Callable[[], Any], count: int) -> float:
    """CPU microseconds for each of `count`."""
    began = time.process_time()
    work()
    return round((time.process_time() - began) / count * 1e6, 1)


def take_in(frontier: Frontier, urls: int, hosts: int) -> None:
    """So many new URLs, a few of a host at a time."""
    links = _links(urls, hosts)
    while batch := list(islice(links, FACTS)):
        frontier.fold(batch)
        settle(frontier)


def settle(frontier: Frontier) -> None:
    """What the partition tells itself is folded."""
    while facts := [fact for _, fact in frontier.core.dispatch(frontier.now_ms, 0).facts]:
        frontier.fold(facts)


def crawl(frontier: Frontier, pages: int, links: Iterator[Fact]) -> None:
    """Send, answer and end so many URLs, each with one new link."""
    done = 0
    while done < pages:
        frontier.now_ms += 50
        sent = frontier.core.dispatch(frontier.now_ms, IN_FLIGHT)
        if sent.facts:
            frontier.fold(fact for _, fact in sent.facts)
        outcomes = [fact.fact for request in sent.requests for fact in outcome_of(request, frontier.now_ms)]
        for start in range(0, len(outcomes), FACTS):
            frontier.fold(outcomes[start : start + FACTS])
        frontier.fold(islice(links, len(sent.requests)))
        frontier.core.progress(frontier.now_ms)
        done += len(sent.requests)


def _links(urls: int, hosts: int, seed: int = 1) -> Iterator[Discovered]:
    pending, chance, left = Pending(hosts, seed), random.Random(seed), urls
    while left:
        new = min(chance.randint(1, 3), left)
        left -= new
        for each in pending.found(chance.randrange(hosts), new):
            if isinstance(each.fact, Discovered):
                yield each.fact


def bench(urls: int, hosts: int, profile: str | None) -> dict[str, Any]:
    """The figures of one backlog."""
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder))
        spec = {"name": "b", "politeness": {"respect_robots": False, "delay": "0s", "concurrency_per_host": 8}}
        wire = JobSpecification.parse(spec).to_wire()
        frontier.core.release(frontier.now_ms)
        frontier.fold([JobChanged(job=JOB, version=1, epoch=1, spec=wire)])
        gc.collect()
        empty = psutil.Process().memory_info().rss
        profiler = cProfile.Profile()
        taking_us = measured(lambda: _profiled(profiler, profile == "take", take_in, frontier, urls, hosts), urls)
        gc.collect()
        full = psutil.Process().memory_info().rss
        more = _links(10**9, hosts, seed=2)
        crawl_us = measured(lambda: _profiled(profiler, profile == "crawl", crawl, frontier, CRAWLED, more), CRAWLED)
        frontier.start()
        steps = [time.process_time()]
        steps += [time.process_time() for _ in frontier.core.releasing(frontier.now_ms)]
        steps.append(time.process_time())
        if profile:
            pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(32)
        return {
            "urls": urls, "hosts": hosts, "taking_in_us": taking_us, "crawling_us": crawl_us,
            "bytes_per_url": round((full - empty) / urls), "rss_mib": full // MIB,
            "backlog_pages": sum(1 for _ in frontier.stores.of(0).scan("backlog", b"")),
            "build_cpu_s": round(steps[-1] - steps[0], 2),
            "longest_step_cpu_ms": round(max(after - before for before, after in pairwise(steps)) * 1000),
        }  # fmt: skip


def index(pages: int, urls_a_page: int, hosts: int) -> dict[str, Any]:
    """What the index in memory takes for so many backlog pages, and how long it takes to be built."""
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder))
        wire = JobSpecification.parse({"name": "b"}).to_wire()
        frontier.fold([JobChanged(job=JOB, version=1, epoch=1, spec=wire)])
        fps = [f"{number:032x}" for number in range(urls_a_page)]
        writes = (
            Write("backlog", page_key(run_id(JOB, 1), f"site-{n % hosts}.example", 50, n), pack(Page(n, fps)), n)
            for n in range(1, pages + 1)
        )
        while some := list(islice(writes, 1000)):
            frontier.stores.of(0).write(some)
        frontier.start()
        gc.collect()
        empty = psutil.Process().memory_info().rss
        steps = [time.process_time()]
        steps += [time.process_time() for _ in frontier.core.releasing(frontier.now_ms)]
        steps.append(time.process_time())
        gc.collect()
        full = psutil.Process().memory_info().rss
        return {
            "pages": pages, "urls": pages * urls_a_page, "hosts": hosts, "index_mib": round((full - empty) / MIB, 1),
            "bytes_per_url": round((full - empty) / pages / urls_a_page, 2), "rss_mib": full // MIB,
            "build_cpu_s": round(steps[-1] - steps[0], 2),
            "longest_step_cpu_ms": round(max(after - before for before, after in pairwise(steps)) * 1000),
        }  # fmt: skip


def finished_jobs(jobs: int) -> dict[str, Any]:
    """What so many finished jobs cost a partition that has just been taken over."""
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder))
        frontier.core.release(frontier.now_ms)
        wire = JobSpecification.parse({"name": "b", "politeness": {"respect_robots": False}}).to_wire()
        for number in range(jobs):
            job = f"job-{number}"
            (link,) = _links(1, 1000, seed=number)
            frontier.fold([JobChanged(job=job, version=1, epoch=1, spec=wire), replace(link, job=job)])
            sent: tuple[FetchRequest, ...] = ()
            while not sent:
                frontier.now_ms += 2_000
                sent = frontier.core.dispatch(frontier.now_ms, 1).requests
            frontier.fold([each.fact for each in outcome_of(sent[0], frontier.now_ms)])
        gc.collect()
        empty, began = psutil.Process().memory_info().rss, time.process_time()
        frontier.start()
        frontier.core.longest_lease_ms()
        for _ in frontier.core.releasing(frontier.now_ms):
            pass
        start_s = time.process_time() - began
        for number in range(jobs):
            frontier.core.ended(Reached(job=f"job-{number}", state="complete", epoch=1))
        reports = len(frontier.core.progress(frontier.now_ms))
        gc.collect()
        full = psutil.Process().memory_info().rss
        fold_us = measured(lambda: _idle(frontier), LOOKS)
        return {
            "finished_jobs": jobs, "start_cpu_s": round(start_s, 2), "memory_mib": round((full - empty) / MIB, 1),
            "first_reports": reports, "batch_and_look_us": fold_us,
        }  # fmt: skip


def _idle(frontier: Frontier) -> None:
    """Batches without news of these jobs, and looks for reports, as the scheduler takes them a few times a second."""
    for _ in range(LOOKS):
        frontier.fold([Ticked(at_ms=frontier.now_ms)])
        frontier.now_ms += 300
        frontier.core.dispatch(frontier.now_ms, 0)
        frontier.core.progress(frontier.now_ms)


def _profiled(profiler: cProfile.Profile, on: bool, work: Callable[..., None], *args: Any) -> None:  # noqa: FBT001  (private)
    if on:
        profiler.runcall(work, *args)
    else:
        work(*args)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--index", type=int, nargs=2, metavar=("PAGES", "URLS"), help="pages of so many URLs each")
    parser.add_argument("--jobs", type=int, help="so many finished jobs")
    parser.add_argument("--profile", choices=["take", "crawl"], default=None)
    options = parser.parse_args()
    if options.index:
        print(json.dumps(index(options.index[0], options.index[1], options.hosts)), flush=True)  # noqa: T201  (its purpose)
    if options.jobs:
        print(json.dumps(finished_jobs(options.jobs)), flush=True)  # noqa: T201  (its purpose)
    for number in () if options.index or options.jobs else options.urls:
        print(json.dumps(bench(number, options.hosts, options.profile)), flush=True)  # noqa: T201  (its purpose)
