"""`make bench-sweeps`: how throughput follows the number of fetchers on a slow site, and the size of pages.

`fetchers`: 1, 2 and 4 of them, each with few requests at a time, on a site of 20 hosts that takes 300 ms to answer:
with 16 (`--at-once`) one can do 53 pages a second at most, so what is measured is whether others add theirs. `size`:
pages of 2 KB to 1 MB from nginx, with the cores as the limit. Each run is a whole crawl on embedded engines with
everything on (ledger, dedupe, robots.txt, events, items in MongoDB), from the acceptance of the job to its last item
and event in the stores.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench.odradek_crawl import Crawled, crawl
from tests.bench.webserver import serving, write_pages
from tests.chaos.cluster import until

from odradek.engines.engine import free_port, http_answers
from odradek.testing.site import Catalogue

LATENCY_S = 0.3
SIZES = {2: (5, 1, 0, 3000), 20: (237, 10, 14, 3000), 200: (3050, 10, 14, 1000), 1000: (15_600, 10, 14, 300)}
"""By KB a page: words of a record, records, links far away, pages. A page of 2 KB has room for one record only."""


@dataclass(frozen=True, slots=True)
class Point:
    """One crawl of a sweep."""

    name: str
    catalogue: Catalogue
    fetchers: int = 1
    latency_s: float = 0.0
    environ: dict[str, str] = field(default_factory=dict)


def points(sweep: str, pages: int | None, at_once: int) -> Iterator[Point]:
    """The crawls of a sweep."""
    if sweep == "fetchers":
        for fetchers in (1, 2, 4):
            catalogue = Catalogue(pages=pages or 2000, port=free_port())
            environ = {"ODRADEK_FETCH_CONCURRENCY": str(at_once)}
            yield Point(f"{fetchers} fetchers", catalogue, fetchers, LATENCY_S, environ)
        return
    for size_kb, (words, cards, far, count) in SIZES.items():
        catalogue = Catalogue(
            pages=pages or count, cards=cards, words_per_card=words, far_links=far, port=free_port()
        )  # fmt: skip
        yield Point(f"{size_kb} KB", catalogue)


@asynccontextmanager
async def _site(point: Point, folder: Path) -> AsyncIterator[int]:
    """The process id of what serves the point's site."""
    if not point.latency_s:
        write_pages(point.catalogue, folder / "site")
        async with serving(folder / "site", point.catalogue.port) as pid:
            yield pid
        return
    given = {"pages": point.catalogue.pages, "port": point.catalogue.port, "latency-s": point.latency_s}
    arguments = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "odradek.testing.site", *arguments, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        answers = partial(asyncio.to_thread, http_answers, point.catalogue.port, "/robots.txt")
        await until(answers, 10, lambda: "the site does not answer")
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


async def run(point: Point) -> dict[str, object]:
    """One crawl; its figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with _site(point, folder) as site:
            done = await crawl(point.catalogue, folder / "state", site, point.environ, point.fetchers)
        return figures(point, done, kafka_bytes(folder / "state"))


def kafka_bytes(state: Path) -> dict[str, int]:
    """What each topic holds on the broker's disk, by name."""
    found: dict[str, int] = {}
    for segment in state.glob("**/*.log"):
        topic, _, partition = segment.parent.name.rpartition("-")
        if topic and partition.isdigit():
            found[topic] = found.get(topic, 0) + segment.stat().st_size
    return found


def figures(point: Point, done: Crawled, topics: dict[str, int]) -> dict[str, object]:
    """What is told of one crawl."""
    return {
        "point": point.name,
        "page_bytes": len(point.catalogue.body(point.catalogue.pages // 2)),
        "pages": done.pages,
        "records": done.items,
        "balanced": done.balanced,
        "seconds": round(done.seconds, 1),
        "pages_per_s": round(done.pages / done.seconds, 1),
        "records_per_s": round(done.items / done.seconds, 1),
        "mb_per_s": round(done.pages / done.seconds * len(point.catalogue.body(1)) / 1e6, 1),
        "cpu_ms_per_page": {name: round(s / done.pages * 1000, 2) for name, s in sorted(done.used.cpu_s.items())},
        "cpu_ms_per_page_in_all": round(done.cpu_ms_per_page(), 2),
        "peak_rss_mib": done.used.peak_total_rss // 2**20,
        "kafka_bytes_per_page": {name: round(size / done.pages) for name, size in sorted(topics.items())},
    }


def main() -> None:
    """Run the sweeps asked for; a line of JSON for each crawl."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", nargs="+", default=["fetchers", "size"], choices=["fetchers", "size"])
    parser.add_argument("--pages", type=int, help="of each crawl; by default as many as take some ten seconds")
    parser.add_argument("--at-once", type=int, default=16, help="requests of one fetcher on the slow site")
    given = parser.parse_args()
    for sweep in given.sweeps:
        for point in points(sweep, given.pages, given.at_once):
            print(json.dumps(asyncio.run(run(point))), flush=True)  # noqa: T201  (its purpose)


if __name__ == "__main__":
    main()
