"""What a goal takes: pages, cores, partitions, brokers, stores and hosts, computed from costs that were measured.

    python -m tests.bench.scaling                             # the tables of docs/scaling.md
    python -m tests.bench.scaling --write docs/scaling.md     # put into it

The costs lie in `costs.json`, each with where it comes from; what was not measured is called assumed there.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

COSTS = Path(__file__).with_name("costs.json")
BEGIN, END = "<!-- computed -->\n", "<!-- /computed -->\n"
DAY_S = 86_400
SERVICES = ("scheduler", "fetcher", "parser", "indexer")
GIB, MB = 2**30, 1e6


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be done."""

    name: str
    pages_per_s: float
    records_a_page: float
    urls: float
    """Known to the frontier: pending or not."""
    fetch_concurrency: int = 64

    @property
    def records_per_s(self) -> float:
        return self.pages_per_s * self.records_a_page


GOALS = (
    Goal("500 million records a day", 500e6 / DAY_S / 10, 10, 100e6),
    Goal("50 million product pages from 0:00 to 8:00", 50e6 / (8 * 3600), 1, 50e6),
    Goal("5,000 fetchers, each with 64 requests at a time", 5000 * 64 / 1.0, 10, 10e9),
)


class Costs:
    """Figures by name, without their sources."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    def one(self, *path: str) -> float:
        """The value at a path of names."""
        found: Any = self.told
        for name in path:
            found = found[name]
        return float(found[0])

    def cpu_ms(self, process: str) -> float:
        """Of a page, on a machine as quiet as the one that Scrapy's cost is known of."""
        quiet = self.one("scrapy_ms_quiet") / self.one("scrapy_ms_in_the_run")
        return self.one("cpu_ms_a_page", process) * quiet

    def topics(self, records_a_page: float) -> dict[str, tuple[float, int]]:
        """Bytes a page, and how many read them, by topic."""
        found = {name: (size, readers) for name, (size, readers, _) in self.told["kafka_bytes_a_page"].items()}
        size, readers = found["items"]
        return found | {"items": (size * records_a_page / self.one("records_a_page"), readers)}


def needs(goal: Goal, costs: Costs) -> dict[str, str]:
    """What a goal takes, in words, by what it is needed of."""
    rate, busy = goal.pages_per_s, costs.one("busy_share")
    latency_s, delay_s = costs.one("latency_s"), costs.one("delay_s")
    cores = {service: rate * costs.cpu_ms(service) / 1000 / busy for service in SERVICES}
    by_waiting = rate * latency_s / goal.fetch_concurrency
    replicas = {service: max(1, ceil(count)) for service, count in cores.items()}
    replicas["fetcher"] = max(replicas["fetcher"], ceil(by_waiting))
    topics = costs.topics(goal.records_a_page)
    into = rate * sum(size for size, _ in topics.values()) / MB
    out = rate * sum(size * readers for size, readers in topics.values()) / MB
    copies = costs.one("replication")
    brokers = max(3, ceil((into * copies + into * (copies - 1) + out) / costs.one("broker_mb_per_s")))
    partitions = _round_up(max(replicas.values()))
    shards = ceil(goal.records_per_s / costs.one("mongodb_documents_per_s"))
    nodes = ceil(rate * costs.one("events_a_page") / costs.one("elasticsearch_events_per_s"))
    return {
        "pages a second": f"{rate:,.0f}",
        "records a second": f"{goal.records_per_s:,.0f}",
        "hosts that can be asked at once, at least": f"{rate * (delay_s + latency_s):,.0f}",
        "requests under way": f"{rate * latency_s:,.0f}",
        "schedulers": f"{replicas['scheduler']:,} ({cores['scheduler']:.1f} cores)",
        "fetchers": f"{replicas['fetcher']:,} ({cores['fetcher']:.1f} cores)",
        "parsers": f"{replicas['parser']:,} ({cores['parser']:.1f} cores)",
        "indexers": f"{replicas['indexer']:,} ({cores['indexer']:.1f} cores)",
        "partitions, at least": f"{partitions:,}",
        "into Kafka, before copies": f"{into:,.0f} MB/s",
        "brokers": f"{brokers:,}",
        "MongoDB shards": f"{shards:,}",
        "Elasticsearch data nodes": f"{nodes:,}",
        "from the sites": f"{rate * costs.one('page_kb') * 8 / 1e6:,.2f} Gbit/s before compression",
    }


def frontier(goal: Goal, costs: Costs, hosts: float, schedulers: int) -> dict[str, str]:
    """What the frontier of so many hosts takes of its schedulers."""
    pages = goal.urls / costs.one("frontier", "urls_a_backlog_page")
    index = hosts * costs.one("frontier", "bytes_a_host") + pages * costs.one("frontier", "bytes_a_backlog_page")
    log = goal.urls * costs.one("frontier", "changelog_bytes_a_url")
    return {
        "hosts and URLs": f"{hosts:,.0f} and {goal.urls:,.0f}",
        "memory in all": f"{index / GIB:,.1f} GiB",
        "memory of each scheduler": f"{index / schedulers / GIB:,.2f} GiB",
        "changelogs": f"{log / GIB:,.0f} GiB, times copies",
        "a scheduler's tables read back": _span(
            goal.urls / schedulers / costs.one("frontier", "restored_urls_per_s")
        ),
    }  # fmt: skip


def tables(costs: Costs) -> str:
    """All of it as Markdown."""
    by_goal = [needs(goal, costs) for goal in GOALS]
    first = _table(["", *(goal.name for goal in GOALS)], [[name, *(n[name] for n in by_goal)] for name in by_goal[0]])
    sizes = [(GOALS[0], 1e6, 4), (GOALS[0], 1e6, 16), (GOALS[2], 100e6, 256)]
    columns = [{"schedulers": f"{count}", **frontier(goal, costs, hosts, count)} for goal, hosts, count in sizes]
    second = _table(["frontier", "", "", ""], [[name, *(each[name] for each in columns)] for name in columns[0]])
    cores = _table(
        ["CPU ms a page", "in the run", "on a quiet machine"],
        [
            [name, f"{costs.one('cpu_ms_a_page', name):.2f}", f"{costs.cpu_ms(name):.2f}"]
            for name in costs.told["cpu_ms_a_page"]
        ],
    )
    sent = _table(
        ["topic", "bytes a page", "read by"],
        [
            [name, f"{size:,.0f}", f"{readers}"]
            for name, (size, readers) in costs.topics(costs.one("records_a_page")).items()
        ],
    )
    return f"{cores}\n{sent}\n{first}\n{second}"


def written(text: str, costs: Costs) -> str:
    """A document with the tables between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(costs)}\n{END}{after}"


def _round_up(replicas: int) -> int:
    """A power of two with room to grow."""
    return max(12, 1 << (2 * replicas - 1).bit_length())


def _span(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Print the tables, or put them into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    costs = Costs(json.loads(COSTS.read_text()))
    if given.write is None:
        print(tables(costs))  # noqa: T201  (its purpose)
    else:
        given.write.write_text(written(given.write.read_text(), costs))


if __name__ == "__main__":
    main()
