"""What docs/scaling.md computes is what the costs that lie beside the benches come to."""

import json
from dataclasses import replace
from pathlib import Path

from tests.bench.scaling import COSTS, GOALS, Costs, frontier, needs, written

DOCUMENT = Path(__file__).parents[2] / "docs" / "scaling.md"


def the_costs() -> Costs:
    return Costs(json.loads(COSTS.read_text()))


def test_the_document_has_the_tables_that_the_costs_come_to() -> None:
    text = DOCUMENT.read_text()
    assert written(text, the_costs()) == text


def test_every_cost_says_where_it_comes_from() -> None:
    def sources(told: object) -> list[object]:
        if isinstance(told, dict):
            return [each for value in told.values() for each in sources(value)]
        return [told[-1] if isinstance(told, list) else told]

    assert [source for source in sources(the_costs().told) if not isinstance(source, str) or len(source) < 8] == []


def test_ten_times_the_pages_need_ten_times_the_hosts_and_requests() -> None:
    goal = replace(GOALS[0], pages_per_s=1_000.0)
    one, ten = needs(goal, the_costs()), needs(replace(goal, pages_per_s=10_000.0), the_costs())
    names = ("hosts that can be asked at once, at least", "requests under way")
    assert [(one[name], ten[name]) for name in names] == [("2,000", "20,000"), ("1,000", "10,000")]


def test_the_memory_of_a_scheduler_follows_from_hosts_and_pages_and_is_shared() -> None:
    told = the_costs().told | {
        "frontier": {
            "bytes_a_host": [2**20, ""], "bytes_a_backlog_page": [1, ""], "urls_a_backlog_page": [100, ""],
            "restored_urls_per_s": [1000, ""], "changelog_bytes_a_url": [10, ""],
        }
    }  # fmt: skip
    found = frontier(replace(GOALS[0], urls=100 * 2**30), Costs(told), hosts=1024, schedulers=2)
    assert (found["memory in all"], found["memory of each scheduler"]) == ("2.0 GiB", "1.00 GiB")
