"""`make bench-backlog`: one scheduler with millions of pending URLs on Apache Kafka: memory, status, restarts.

URLs are fed as parsers send them: a batch for each partition from some crawled pages, each of which has found a few new
URLs of its own host. Printed are the scheduler's memory, what the gateway takes to answer `GET /v1/jobs/{id}`, and how
long it takes until the first new request after a kill -9 (with and without its local tables) and after a rebalance.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil
from tests.bench.fleet import JOB, Fleet, Pending
from tests.embedded import kafka

from odradek.clock import now_ms
from odradek.engines.engine import free_port
from odradek.kafka.admin import apply_topics
from odradek.runtime.supervisor import tethered
from odradek.settings import Settings

MIB = 2**20
CRAWLED_TOGETHER = 300
"""Pages whose links travel in the same batches, as a parser packs them."""
STATUS_REQUESTS = 200


class Process:
    """A service of ours, with its memory, its CPU time and what it has logged."""

    def __init__(self, service: str, settings: Settings, log: Path, **more: str) -> None:
        environ = {
            "ODRADEK_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
            "ODRADEK_STATE_DIR": str(settings.state_dir),
            "ODRADEK_SESSION_TIMEOUT": f"{settings.session_timeout}s",
            **more,
        }
        self._log, self._read_from = log, log.stat().st_size if log.exists() else 0
        self.began_ms = now_ms()
        with log.open("ab") as out:
            command = tethered((sys.executable, "-m", f"odradek_{service}"))
            self._process = subprocess.Popen(command, env=os.environ | environ, stdout=out, stderr=out)
        self._ps = psutil.Process(self._process.pid)

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        times = self._ps.cpu_times()
        return float(times.user + times.system)

    def memory_mib(self) -> dict[str, int]:
        """Resident memory now, and at its highest."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        fields = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmHWM", "VmRSS"))}
        return {"now": int(fields["VmRSS"]) // 1024, "peak": int(fields["VmHWM"]) // 1024}

    def forget_peak(self) -> None:
        """Its highest is counted anew."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def events(self, name: str) -> list[dict[str, Any]]:
        """Its log lines of this name."""
        with self._log.open("rb") as log:
            log.seek(self._read_from)
            lines = [json.loads(line) for line in log.read().decode().splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == name or line.get("message") == name]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()


class Bench:
    """One backlog, and what is measured of it."""

    def __init__(self, settings: Settings, folder: Path, options: argparse.Namespace) -> None:
        self.settings, self.options, self._folder = settings, options, folder
        self.found: dict[str, Any] = {
            "urls": options.urls, "hosts": options.hosts, "partitions": settings.partitions,
            "new_urls_a_page": options.new, "batches": 0,
        }  # fmt: skip

    def run(self) -> None:
        with Fleet(self.settings) as fleet:
            fleet.announce(delay=self.options.delay)
            with self._scheduler() as scheduler:
                self._feed(fleet, scheduler)
                self._status()
                scheduler.kill()
            with self._scheduler() as scheduler:
                self._restarted(fleet, scheduler, "restart_in_place")
                scheduler.kill()
            for tables in self.settings.state_dir.glob("scheduler/*/tables"):
                shutil.rmtree(tables)
            with self._scheduler() as scheduler:
                self._restarted(fleet, scheduler, "restart_without_tables")
                self._rebalance(fleet, scheduler)

    def _scheduler(self, port: int = 0) -> Process:
        return Process(
            "scheduler", self.settings, self._folder / "scheduler.log", ODRADEK_METRICS_PORT=str(port or free_port())
        )

    def _feed(self, fleet: Fleet, scheduler: Process) -> None:
        pending = Pending(self.options.hosts)
        chance = random.Random(1)
        began, cpu_s, left = time.monotonic(), scheduler.cpu_s, self.options.urls
        while left:
            links = []
            for _ in range(CRAWLED_TOGETHER):
                new = min(chance.randint(1, 2 * self.options.new - 1), left)
                links += pending.found(chance.randrange(self.options.hosts), new)
                left -= new
            self.found["batches"] += fleet.discover(links)
        fleet.flush()
        fed_s = time.monotonic() - began
        until(
            lambda: fleet.accepted() >= self.options.urls, 2400, "not all are folded", every=lambda: self._tell(fleet)
        )
        took_s, spent_s = time.monotonic() - began, scheduler.cpu_s - cpu_s
        self.found["feed"] = {
            "sent_s": round(fed_s, 1),
            "folded_s": round(took_s, 1),
            "cpu_us_per_url": round(spent_s / self.options.urls * 1e6, 1),
            "memory_mib": scheduler.memory_mib(),
        }
        time.sleep(5)
        self.found["at_rest"] = {"memory_mib": scheduler.memory_mib(), "cpu_share": _cpu_share(scheduler, 5.0)}
        self.say("feed", "at_rest")

    def _status(self) -> None:
        """Of the gateway, while the scheduler is at work."""
        port = free_port()
        with Process("api", self.settings, self._folder / "api.log", ODRADEK_API_PORT=str(port)) as api:
            url = f"http://127.0.0.1:{port}/v1/jobs/{JOB}"
            until(lambda: _pending(url) > 0, 60, "the gateway does not answer")
            spans = sorted(_timed_ms(url) for _ in range(STATUS_REQUESTS))
            self.found["status_ms"] = {
                "p50": round(statistics.median(spans), 1),
                "p95": round(spans[int(len(spans) * 0.95)], 1),
                "most": round(spans[-1], 1),
                "pending": _pending(url),
            }
            self.found["gateway_memory_mib"] = api.memory_mib()
        self.say("status_ms", "gateway_memory_mib")

    def _restarted(self, fleet: Fleet, scheduler: Process, name: str) -> None:
        """From the start of the process to its first request; all that is unanswered is answered by then."""
        first_ms = fleet.first_request_after(scheduler.began_ms, 300)
        self.found[name] = {
            "first_request_s": round((first_ms - scheduler.began_ms) / 1000, 1),
            "memory_mib": scheduler.memory_mib(),
        }
        until(lambda: bool(scheduler.events("taken_over")), 300, "not taken over")
        time.sleep(5)
        self.found[name] |= {
            "tables_read_s": scheduler.events("recovered")[0]["seconds"],
            "all_released_s": scheduler.events("taken_over")[-1]["seconds"],
            "later_memory_mib": scheduler.memory_mib(),
            "cpu_share": _cpu_share(scheduler, 5.0),
        }
        self.say(name)

    def _rebalance(self, fleet: Fleet, first: Process) -> None:
        """A second scheduler joins, without tables; then it is killed, and the first takes all back."""
        first.forget_peak()
        with self._scheduler() as second:
            until(lambda: bool(second.events("taken_over")), 300, "nothing is taken over")
            event, read = second.events("taken_over")[-1], second.events("recovered")[-1]
            self.found["second_joins"] = {
                "partitions": len(event["partitions"]),
                "tables_read_s": read["seconds"],
                "released_after_s": event["seconds"],
                "each_partition": [_short(each) for each in second.events("partition_taken_over")],
                "memory_mib": second.memory_mib(),
                "memory_of_the_first_mib": first.memory_mib(),
            }
            second.kill()
        before = len(first.events("taken_over"))
        killed_ms = now_ms()
        until(lambda: len(first.events("taken_over")) > before, 300, "the first does not take over again")
        self.found["second_killed"] = {
            "taken_back_s": round(time.time() - killed_ms / 1000, 1),
            "first_request_s": round((fleet.first_request_after(killed_ms, 60) - killed_ms) / 1000, 1),
            "memory_mib": first.memory_mib(),
        }
        self.say("second_joins", "second_killed")

    def _tell(self, fleet: Fleet) -> None:
        print(f"  {fleet.accepted():,} accepted", file=sys.stderr)  # noqa: T201  (its purpose)

    def say(self, *names: str) -> None:
        """What has been found so far."""
        for name in names:
            print(f"{name}: {json.dumps(self.found[name])}", file=sys.stderr, flush=True)  # noqa: T201  (its purpose)


def until(condition: Callable[[], bool], within_s: float, what: str, every: Callable[[], None] = lambda: None) -> None:
    """Wait for it; `every` ten seconds something else."""
    deadline, tell_at = time.monotonic() + within_s, time.monotonic() + 10
    while not condition():
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(what)
        if now > tell_at:
            tell_at = now + 10
            every()
        time.sleep(0.1)


def _short(event: dict[str, Any]) -> dict[str, Any]:
    return {name: event[name] for name in ("partition", "pages", "seconds", "longest_step_ms")}


def _cpu_share(process: Process, seconds: float) -> float:
    before = process.cpu_s
    time.sleep(seconds)
    return round((process.cpu_s - before) / seconds, 3)


def _timed_ms(url: str) -> float:
    began = time.perf_counter()
    with urllib.request.urlopen(url) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1000


def _pending(url: str) -> int:
    try:
        with urllib.request.urlopen(url) as answer:
            return int(json.load(answer)["pending"])
    except OSError:
        return 0


def _keep_logs(folder: Path, kept: Path | None) -> None:
    for log in folder.glob("*.log") if kept is not None else ():
        shutil.copy(log, kept or folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=2_000_000)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--new", type=int, default=2, help="new URLs that a crawled page finds, on average")
    parser.add_argument("--delay", default="10s", help="of each host")
    parser.add_argument("--logs", type=Path, default=None, help="folder that the logs are copied to")
    return parser.parse_args()


async def main(options: argparse.Namespace) -> dict[str, Any]:
    """One run; the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with kafka(folder) as address:
            settings = Settings(
                kafka_bootstrap=address, partitions=options.partitions, session_timeout=10.0,
                state_dir=folder / "state",
            )  # fmt: skip
            bench = Bench(settings, folder, options)
            try:
                await asyncio.to_thread(apply_topics, settings)
                await asyncio.to_thread(bench.run)
            finally:
                await asyncio.to_thread(_keep_logs, folder, options.logs)
        return bench.found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(_options())), indent=1))  # noqa: T201  (its purpose)
