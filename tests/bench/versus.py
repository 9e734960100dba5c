"""`make bench`: Scrapy and Odradek on the same site, one after the other on the same cores, and where the time goes.

nginx serves the catalogue (15 KB a page, 42 links, 10 records of five fields). Scrapy writes its items to a file;
Odradek has everything on: ledger, dedupe, robots.txt, events, MongoDB. Its clock runs from the acceptance of the job to
the last item and event in the stores, CPU counts for all of its processes, engines included, and not for its start.
Figures of two machines do not compare; ratios within one run do.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.bench.meter import Used
from tests.bench.odradek_crawl import Crawled, crawl
from tests.bench.webserver import serving, write_pages

from odradek.engines.engine import free_port
from odradek.testing.site import Catalogue

RECORDS_A_DAY = 500_000_000
RECORDS_PER_S = RECORDS_A_DAY / 86_400


async def scrapy(python: str, catalogue: Catalogue, folder: Path) -> Crawled:
    """The peer, in a process of its own."""
    program = str(Path(__file__).with_name("scrapy_peer.py"))
    process = await asyncio.create_subprocess_exec(
        python, program, catalogue.url(0), str(folder / "scrapy.jsonl"), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    told = json.loads(out.splitlines()[-1])
    used = Used({"scrapy": told["cpu_s"]}, {"scrapy": told["peak_rss"]}, told["peak_rss"])
    return Crawled(pages=told["pages"], items=told["items"], seconds=told["seconds"], used=used)


async def rounds(catalogue: Catalogue, count: int, python: str | None, fetchers: int) -> dict[str, list[Crawled]]:
    """Each in turn, so often."""
    found: dict[str, list[Crawled]] = {"scrapy": [], "odradek": []} if python else {"odradek": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pages(catalogue, folder / "site")
        async with serving(folder / "site", catalogue.port) as site:
            for number in range(count):
                if python:
                    found["scrapy"].append(_told("scrapy", await scrapy(python, catalogue, folder)))
                state = folder / f"state-{number}"
                found["odradek"].append(_told("odradek", await crawl(catalogue, state, site, fetchers=fetchers)))
    return found


def _told(name: str, done: Crawled) -> Crawled:
    print(f"{name}: {done.pages} pages, {done.items} items in {done.seconds:.1f} s", file=sys.stderr)  # noqa: T201
    return done


def summary(found: dict[str, list[Crawled]]) -> dict[str, object]:
    """Medians of the rounds, and the ratios."""
    told: dict[str, object] = {name: _median(runs) for name, runs in found.items()}
    if "scrapy" in found:
        ratios = [
            (ours.pages / ours.seconds) / (theirs.pages / theirs.seconds)
            for ours, theirs in zip(found["odradek"], found["scrapy"], strict=True)
        ]
        told["speed_ratio_by_round"] = [round(ratio, 2) for ratio in ratios]
        told["speed_ratio"] = round(statistics.median(ratios), 2)
        theirs_ms = statistics.median(run.cpu_ms_per_page() for run in found["scrapy"])
        told["cpu_ratio"] = round(theirs_ms / statistics.median(run.cpu_ms_per_page() for run in found["odradek"]), 2)
    return told


def _median(runs: Sequence[Crawled]) -> dict[str, object]:
    names = sorted({name for run in runs for name in run.used.cpu_s})
    cpu = {name: statistics.median(run.used.cpu_s.get(name, 0.0) / run.pages * 1000 for run in runs) for name in names}
    rss = {name: max(run.used.peak_rss.get(name, 0) for run in runs) // 2**20 for name in names}
    return {
        "pages": [run.pages for run in runs],
        "items": [run.items for run in runs],
        "balanced": all(run.balanced for run in runs),
        "pages_per_s": round(statistics.median(run.pages / run.seconds for run in runs), 1),
        "records_per_s": round(statistics.median(run.items / run.seconds for run in runs), 1),
        "cpu_ms_per_page": {name: round(ms, 3) for name, ms in cpu.items()},
        "cpu_ms_per_page_in_all": round(sum(ms for name, ms in cpu.items() if name != "site"), 3),
        "peak_rss_mib": rss,
        "peak_rss_mib_in_all": max(run.used.peak_total_rss for run in runs) // 2**20,
    }


def show(told: dict[str, object]) -> None:
    """A table for people."""
    table = Table("", "pages/s", "records/s", "CPU ms/page", "RSS MiB", "by process, CPU ms/page")
    for name in ("scrapy", "odradek"):
        if isinstance(one := told.get(name), dict):
            split = "  ".join(f"{process} {ms:.2f}" for process, ms in one["cpu_ms_per_page"].items())
            figures = ("pages_per_s", "records_per_s", "cpu_ms_per_page_in_all", "peak_rss_mib_in_all")
            table.add_row(name, *(str(one[figure]) for figure in figures), split)
    console = Console(stderr=True)
    console.print(table)
    if "speed_ratio" in told:
        console.print(f"Odradek is {told['speed_ratio']} times as fast; CPU a page {told['cpu_ratio']} times less.")


def main() -> None:
    """Run it; JSON to standard output, a table to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fetchers", type=int, default=1)
    parser.add_argument("--words", type=int, default=130, help="words in a record's text: the size of a page")
    parser.add_argument("--scrapy", help="a Python that has Scrapy; without it Odradek runs alone")
    parser.add_argument("--raw", type=Path, help="write every round's figures to this file")
    given = parser.parse_args()
    catalogue = Catalogue(pages=given.pages, words_per_card=given.words, port=free_port())
    found = asyncio.run(rounds(catalogue, given.rounds, given.scrapy, given.fetchers))
    told = summary(found)
    show(told)
    print(json.dumps(told, indent=1))  # noqa: T201  (its purpose)
    if given.raw:
        raw = {name: [asdict(run) for run in runs] for name, runs in found.items()}
        given.raw.write_text(json.dumps(raw, indent=1))


if __name__ == "__main__":
    main()
