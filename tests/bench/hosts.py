"""`make bench-hosts`: the frontier's core with a million hosts and the index of a hundred million URLs, by a clock.

The scheduler's own core and dispatcher in one process that owns all partitions or `--own` of them; no Kafka. Its tables
are on disk, or made up as they are read. Sites answer after 200 to 300 ms of simulated time and tell of one new URL a
page; some throttle. The backlog is as merging leaves it, and each host's first rows of `seen` are there (`--rows`).

Printed are memory by part, CPU microseconds a fact folded and a request sent (the tables' background threads apart),
by stretches of the run; how evenly hosts were served; whether a delay was ever cut short; what a take-over takes.
"""

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psutil
from tests.bench.internet import JOB, RUN, START_MS, Collector, Filling, Sites, Stopwatch, host_name, urls_of_hosts
from tests.bench.made_tables import MadeTables

from odradek.contracts import Batch, Fact, JobChanged, Wanted
from odradek.specification import JobSpecification
from odradek.urls import partition_of
from odradek_scheduler.core.keys import ledger_key
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.state import Ledger, pack
from odradek_scheduler.core.tables import Write, value_offset
from odradek_scheduler.dispatching import Dispatcher
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Owned, Ownership
from odradek_scheduler.store import PartitionStore, Stores

MIB = 2**20
TICK_MS = 50
FACTS = 40
"""In one batch at most."""
REPORT_EVERY_MS = 300


class Process:
    """One scheduler that owns all partitions, and the simulated world around it."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.options = options
        self.stores = Stores(folder, value_offset)
        self.hosts = urls_of_hosts(options.hosts, options.urls)
        self.found: dict[str, Any] = {"hosts": options.hosts, "urls": sum(self.hosts), "partitions": options.partitions}
        self.ranks: list[list[int]] = [[] for _ in range(options.own or options.partitions)]
        self.now_ms = START_MS
        self.offsets = [0] * options.partitions
        self.watch, self.collector = Stopwatch(), Collector()
        politeness = {"delay": f"{options.delay_s}s", "max_delay": "1h"}
        scope = {"max_pages": options.max_pages} if options.max_pages else {}
        plain = {"name": "internet", "politeness": politeness, "scope": scope}
        self.spec = JobSpecification.parse(plain).to_wire()
        delay_ms = round(options.delay_s * 1000)
        self.sites = Sites(array("q", self.hosts), options.partitions, delay_ms)
        self.owned: list[Owned] = []
        self.tables: list[PartitionStore | MadeTables] = []

    def core(self, number: int) -> Partition:
        """A new owner of a partition's tables."""
        core = Partition(number, self.options.partitions, self.tables[number], Limits())
        core.load()
        core.resume_at(self.offsets[number])
        return core

    def fill(self) -> None:
        """The backlog of every partition."""
        began, pages = time.process_time(), 0
        for rank in range(len(self.hosts)):
            number = partition_of(host_name(rank), self.options.partitions)
            if number < len(self.ranks):
                self.ranks[number].append(rank)
        for number, ranks in enumerate(self.ranks):
            filled = self._filled(number, ranks)
            self._fold(self.core(number), number, [JobChanged(job=JOB, version=1, epoch=1, spec=self.spec)])
            urls, at = filled.urls, self.offsets[number]
            ledger = Ledger(at, accepted=urls, pending=urls, links_found=urls)
            self.tables[number].write([Write("ledger", ledger_key(RUN), pack(ledger), at)])
            self.offsets[number] += 1
            pages += filled.pages
        self.found |= {"owned": {"partitions": len(self.ranks), "hosts": sum(map(len, self.ranks))}}
        self.found |= {"backlog_pages": pages, "filling_cpu_s": round(time.process_time() - began)}

    def _filled(self, number: int, ranks: list[int]) -> Filling | MadeTables:
        """The tables of a partition, and what is in them."""
        if self.options.tables == "made":
            made = MadeTables(ranks, self.hosts, 0)
            self.tables.append(made)
            self.offsets[number] = made.next_offset
            return made
        filling = Filling(self.stores.of(number), self.options.rows)
        self.offsets[number] = filling.fill(((rank, self.hosts[rank]) for rank in ranks), 0)
        self.tables.append(self.stores.of(number))
        return filling

    def take_over(self) -> dict[str, Any]:
        """All partitions, one after the other; the memory that their hosts and indexes take."""
        self.owned = []
        gc.collect()
        empty, steps, spans = _rss(), [0.0], []
        for number in range(len(self.ranks)):
            core, began = self.core(number), time.thread_time()
            before = began
            for _ in core.releasing(self.now_ms):
                steps.append((now := time.thread_time()) - before)
                before = now
            spans.append(time.thread_time() - began)
            self.tell({"taken_over": number, "cpu_s": round(spans[-1], 2), "rss_mib": _rss() // MIB})
            self.owned.append(Owned(number, core, None))
        gc.collect()
        took = {"rss_before_mib": empty // MIB, "hosts_and_index_mib": (_rss() - empty) // MIB}
        return took | {
            "bytes_a_host": round((_rss() - empty) / sum(map(len, self.ranks))),
            "a_partition_cpu_s": round(statistics.mean(spans), 2), "longest_step_cpu_ms": round(max(steps) * 1000),
        }  # fmt: skip

    def _fold(self, core: Partition, number: int, facts: list[Fact]) -> None:
        began = time.thread_time()
        writes = core.fold(Batch(facts=tuple(facts)), self.offsets[number])
        self.watch.add("fold", began)
        began = time.thread_time()
        self.tables[number].write(writes)
        self.watch.add("write", began)
        self.offsets[number] += 1
        self.sites.told += core.told
        core.told.clear()

    def crawl(self) -> None:
        """Send as many requests, everything that comes meanwhile folded."""
        outbox, ownership = cast("Outbox", self.sites), cast("Ownership", self.owned)
        dispatcher = Dispatcher(ownership, outbox, self.options.in_flight)
        self.found["stretches"] = []
        until = time.monotonic() + self.options.minutes * 60
        for _ in range(self.options.stretches):
            self.watch = Stopwatch()
            self._stretch(dispatcher, self.options.requests // self.options.stretches)
            self.tell(self.found["stretches"][-1] | self.judged())
            if time.monotonic() > until:
                break

    def _stretch(self, dispatcher: Dispatcher, requests: int) -> None:
        sent, pages, began_ms, facts = self.sites.sent, self.sites.pages, self.now_ms, 0
        cpu_s, until = time.process_time(), self.sites.sent + requests
        while self.sites.sent < until:
            self.now_ms += TICK_MS
            for number, all_facts in self.sites.facts(self.now_ms).items():
                facts += len(all_facts)
                for start in range(0, len(all_facts), FACTS):
                    self._fold(self.owned[number].core, number, all_facts[start : start + FACTS])
            while self._timed("dispatch", lambda: dispatcher.round(self.now_ms)) == 0:
                pass  # until nothing more can be sent at this instant
            if self.now_ms % REPORT_EVERY_MS == 0:
                self._timed("progress", lambda: [each.core.progress(self.now_ms) for each in self.owned])
            if self.now_ms % 2000 == 0:
                self._timed("host_reports", lambda: [each.core.host_reports(self.now_ms) for each in self.owned])
        count = self.sites.sent - sent
        spent, simulated_s = self.watch.spent, (self.now_ms - began_ms) / 1000
        self.found["stretches"].append({
            "requests": count, "pages": self.sites.pages - pages, "simulated_s": round(simulated_s),
            "us_a_fact": round((spent["fold"] + spent["write"]) / max(facts, 1) * 1e6, 1),
            "us_a_request": round(spent["dispatch"] / count * 1e6, 1),
            "us_of_reports_a_request": round((spent["progress"] + spent["host_reports"]) / count * 1e6, 1),
            "us_a_request_in_all": round((time.process_time() - cpu_s) / count * 1e6, 1),
            "longest_ms": {name: round(took * 1000) for name, took in self.watch.longest.items()},
            "rss_mib": _rss() // MIB, "full_collections": self.collector.full,
            "longest_collection_ms": self.collector.longest_ms,
        })  # fmt: skip

    def _timed(self, name: str, work: Callable[[], object]) -> object:
        began = time.thread_time()
        done = work()
        self.watch.add(name, began)
        return done

    def at_once(self) -> dict[str, float]:
        """CPU milliseconds of what concerns all hosts of a partition at once: nothing else goes on meanwhile."""
        one, took = self.owned[0].core, {}
        changes: dict[str, Wanted] = {"pause": "paused", "resume": "running", "cancel": "cancelled"}
        works: dict[str, Callable[[], object]] = {"figures": lambda: next(one.counting(self.now_ms), None)}
        for version, (name, wanted) in enumerate(changes.items(), 2):
            fact = JobChanged(job=JOB, version=version, epoch=1, wanted=wanted, spec=self.spec, at_ms=self.now_ms)
            works[name] = lambda fact=fact: self._fold(one, 0, [fact])  # type: ignore[misc]  # bound in the loop
            works[f"dispatch_after_{name}"] = lambda: one.dispatch(self.now_ms, 0)
        for name, work in works.items():
            began = time.thread_time()
            work()
            took[name] = round((time.thread_time() - began) * 1000, 1)
        return took

    def judged(self) -> dict[str, Any]:
        """Politeness and fairness as the sites have seen them."""
        asked = sorted(self.sites.asked[rank] for ranks in self.ranks for rank in ranks)
        late = sorted(self.sites.late_ms) or [0]
        return {
            "requests": self.sites.sent, "before_the_delay_was_over": self.sites.rude,
            "over_the_delay_ms": {"p50": late[len(late) // 2], "p99": late[len(late) * 99 // 100]},
            "requests_a_host": {
                "least": asked[0], "p1": asked[len(asked) // 100], "p50": asked[len(asked) // 2],
                "p99": asked[len(asked) * 99 // 100], "most": asked[-1],
            },
        }  # fmt: skip

    def tell(self, told: object) -> None:
        """What was found so far."""
        print(json.dumps(told), file=sys.stderr, flush=True)  # noqa: T201  (its purpose)


def _rss() -> int:
    return int(psutil.Process().memory_info().rss)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """One run; the figures."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        process = Process(Path(folder), options)
        found = process.found
        process.fill()
        found["take_over"] = process.take_over()
        process.tell(found)
        process.crawl()
        found["judged"] = process.judged()
        found["take_over_again"] = process.take_over()
        found["at_once_ms"] = process.at_once()
        process.stores.close_all()
        return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--urls", type=int, default=100_000_000)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--own", type=int, default=0, help="only so many of the partitions are this process's")
    parser.add_argument("--requests", type=int, default=3_000_000)
    parser.add_argument("--stretches", type=int, default=6, help="into which the run is divided")
    parser.add_argument("--tables", choices=["disk", "made"], default="disk", help="made up as they are read, or real")
    parser.add_argument("--minutes", type=float, default=600, help="after so many no further stretch is begun")
    parser.add_argument("--rows", type=int, default=6, help="rows of `seen` written of each host")
    parser.add_argument("--delay-s", type=float, default=100.0, help="of each host")
    parser.add_argument("--in-flight", type=int, default=4096)
    parser.add_argument("--max-pages", type=int, default=0, help="a limit of the job, so that URLs need permits")
    parser.add_argument("--folder", type=Path, default=None, help="where the tables lie meanwhile")
    return parser.parse_args()


if __name__ == "__main__":
    print(json.dumps(run(_options()), indent=1))  # noqa: T201  (its purpose)
