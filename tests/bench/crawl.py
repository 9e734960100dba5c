"""`make bench`: crawls the catalogue site with everything on and prints where the time goes.

Pages and records a second from the job's acceptance to its completion, and CPU milliseconds a page by process, the site
included. Figures of two machines do not compare; ratios within one run do.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import psutil
import yaml
from tests.e2e.crawling import catalogue_job

from odradek.testing.site import Catalogue

EVERY_S = 0.5


class Meter:
    """CPU seconds and memory of every process of a tree, kept after it has ended."""

    def __init__(self, roots: dict[str, int]) -> None:
        self._roots = roots
        self.cpu_s: dict[str, float] = {}
        self.peak_rss: dict[str, int] = {}
        self._seen: dict[int, tuple[str, float]] = {}

    def read(self) -> None:
        """Take a reading."""
        for name, pid in self._roots.items():
            try:
                root = psutil.Process(pid)
                for process in [root, *root.children(recursive=True)]:
                    self._note(process, name)
            except psutil.NoSuchProcess:
                continue
        totals: dict[str, float] = {}
        for label, spent_s in self._seen.values():
            totals[label] = totals.get(label, 0.0) + spent_s
        self.cpu_s = totals

    def _note(self, process: psutil.Process, root: str) -> None:
        try:
            label = _label(process.cmdline(), root)
            times = process.cpu_times()
            self._seen[process.pid] = (label, times.user + times.system)
            self.peak_rss[label] = max(self.peak_rss.get(label, 0), process.memory_info().rss)
        except psutil.Error:
            return


def _label(command: list[str], root: str) -> str:
    words = " ".join(command)
    for mark, label in (("kafka.Kafka", "kafka"), ("secantusd", "mongodb"), ("noida-db", "elasticsearch")):
        if mark in words:
            return label
    return command[-1] if "service" in command else root


async def bench(pages: int) -> dict[str, object]:
    """One crawl of the catalogue; the figures."""
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Catalogue(pages=pages, port=8088)
        site = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "odradek.testing.site", "--pages", str(pages), stdout=asyncio.subprocess.PIPE
        )
        assert site.stdout is not None
        await site.stdout.readline()
        (Path(folder) / "job.yaml").write_text(yaml.safe_dump(catalogue_job(catalogue)))
        begun = time.monotonic()
        options = ("--job", "job.yaml", "--state", "state", "--json", "--allow-private-networks")
        crawl = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "odradek", "crawl", *options, cwd=folder, stdout=asyncio.subprocess.PIPE
        )
        meter = Meter({"crawl": crawl.pid, "site": site.pid})
        metering = asyncio.create_task(_meter(meter))
        out, _ = await crawl.communicate()
        metering.cancel()
        site.terminate()
        await site.wait()
        return _figures(json.loads(out), meter, time.monotonic() - begun)


async def _meter(meter: Meter) -> None:
    while True:
        await asyncio.to_thread(meter.read)
        await asyncio.sleep(EVERY_S)


def _figures(result: dict[str, float], meter: Meter, wall_s: float) -> dict[str, object]:
    pages, duration_s = result["pages"], result["duration_s"]
    return {
        "pages": pages,
        "items": result["items"],
        "balanced": result["audit"]["balanced"],  # type: ignore[index]  # nested in the crawl's JSON
        "pages_per_s": round(pages / duration_s, 1),
        "records_per_s": round(result["items"] / duration_s, 1),
        "startup_s": result["startup_s"],
        "wall_s": round(wall_s, 1),
        "cpu_ms_per_page": {name: round(s / pages * 1000, 2) for name, s in sorted(meter.cpu_s.items())},
        "peak_rss_mib": {name: rss // 2**20 for name, rss in sorted(meter.peak_rss.items())},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5000)
    print(json.dumps(asyncio.run(bench(parser.parse_args().pages)), indent=1))  # noqa: T201  (its purpose)
