"""With a rule switched off the model must find a run that breaks a law: so the oracle is known to bite."""

from dataclasses import replace

import pytest

from .scenarios import SCENARIOS
from .search import search
from .world import Scenario

MOST_RUNS = 1_500

_TWICE = Scenario(
    part=dict.fromkeys("abcd", 0), seeds=("a",), grow={"a": ("b", "c", "d")}, partitions=1, crashes=1, steps=60
)
_PAIR = Scenario(part={"a": 0, "b": 0}, seeds=("a", "b"), concurrency=1, partitions=1, crashes=0, steps=100)
_TRIO = Scenario(
    part=dict.fromkeys("abc", 0), seeds=("a", "b", "c"), concurrency=1, delay_s=20.0, partitions=1, lose_requests=True,
    steps=100,
)  # fmt: skip
_AGAIN = Scenario(part={"a": 0}, seeds=("a",), partitions=1, controls=("run",), crashes=0, steps=150)

ABLATIONS: dict[str, tuple[Scenario, str, str]] = {
    "replay_writes": (SCENARIOS["one"], "11", "A replay leaves out what the local store already has."),
    "flush_before_commit": (SCENARIOS["one"], "", "The offset is committed before the changelogs are flushed."),
    "ledger_offset": (SCENARIOS["one"], "", "A replayed batch is counted again."),
    "history": (SCENARIOS["retry2"], "", "Only the first and the newest transition are kept."),
    "newest_wins": (SCENARIOS["zombie"], "0", "Recovery takes the later record, not the one with the higher offset."),
    "persisted_by_commit": (
        SCENARIOS["zombie"],
        "",
        "What is acknowledged vouches for all before it, without a commit.",
    ),
    "merge_order": (SCENARIOS["merge"], "1", "The sources of a merge end before the target is written."),
    "closing_fact": (SCENARIOS["cancel"], "", "A cancelled ledger is not written."),
    "take_over": (SCENARIOS["polite"], "", "Dispatch begins before old requests are answered."),
    "inherited": (SCENARIOS["polite3"], "", "Requests of another fetcher's partitions are carried out again at once."),
    "tenure": (_PAIR, "25", "A fetcher goes on with what it has begun when its partitions are another's."),
    "parsed_tells": (_TRIO, "3", "A host does not rest from an answer that only its outcome tells of."),
    "under_way": (SCENARIOS["late_limit"], "2", "A limit takes no notice of what is under way."),
    "all_told": (SCENARIOS["late_limit"], "", "Permits are granted before all partitions account for a new limit."),
    "poison_fact": (SCENARIOS["poison"], "", "A poison page is a dead letter without an outcome."),
    "links_before_parsed": (SCENARIOS["small"], "", "A page is finished before its links are sent."),
    "lru_after_ack": (SCENARIOS["small"], "11", "A link counts as forwarded before Kafka has it."),
    "seeding": (SCENARIOS["one"], "8", "Completion does not wait for seeds on the way."),
    "channels": (_TWICE, "1", "Completion does not wait for fetchers and parsers."),
    "told_first": (SCENARIOS["sitemap"], "16", "Sitemaps are handed over after the commit of what names them."),
    "frontier_ends": (SCENARIOS["small"], "0", "Completion does not look at the ends of the frontier."),
    "renewing": (_AGAIN, "0", "Completion does not wait until known URLs are taken over."),
}
"""What is switched off: where, a seed that finds it soon, and what it means."""


@pytest.mark.parametrize("rule", ABLATIONS)
def test_a_rule_switched_off_is_found(rule: str) -> None:
    scenario, seed, meaning = ABLATIONS[rule]
    _, violation, _ = search(replace(scenario, broken=frozenset((rule,))), MOST_RUNS, rule + seed)
    assert violation is not None, meaning
