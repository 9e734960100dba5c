"""What `explain` says comes next is what dispatch does next, in whatever state the partition is."""

from typing import Any

import pytest

from odradek.contracts import HostChanged, Parsed, Question, Reserve

from .simulation import Simulation

CASES = [
    (0.0, 2, {}),
    (1.0, 1, {}),
    (1.0, 1, {"scope": {"max_pages": 60}}),
    (0.0, 3, {"scope": {"max_pages_per_host": 7}}),
]


class Foretold(Simulation):
    """Before each dispatch every open URL is explained."""

    def job(self, name: str = "j", **spec: Any) -> None:
        politeness = {"delay": self.delay_ms / 1000, "concurrency_per_host": self.concurrency, "respect_robots": True}
        super().job(name, politeness=politeness, **spec)

    def explained(self) -> dict[str, tuple[str, str | None, str]]:
        """Verdict, reason and host of every URL by fingerprint."""
        crawl, said = self.crawl, {}
        for number in range(1, self.found + 1):
            fp = f"p{number}"
            seen = crawl.seen(fp)
            question = Question(id="q", kind="explain", job="j", url=seen.url, fp=fp, key=seen.key)
            body = crawl.core.answer(question, crawl.now_ms).body
            said[fp] = (body["next"]["verdict"], body["next"]["reason"], seen.key)
        return said

    def compare(self) -> tuple[int, int, int]:
        """One dispatch against what was said before it; returns what was sent, ended, and asked of robots.txt."""
        crawl = self.crawl
        while facts := crawl.core.dispatch(crawl.now_ms, 0).facts:
            crawl.fold(*(fact for _, fact in facts))
        said = self.explained()
        sent = crawl.core.dispatch(crawl.now_ms, 10_000)
        pages = {request.fp for request in sent.requests if request.kind == "page"}
        robots = {request.key for request in sent.requests if request.kind == "robots"}
        facts = [fact for _, fact in sent.facts]
        ended = {fact.fp: (fact.outcome, fact.reason) for fact in facts if isinstance(fact, Parsed)}
        asked = {fp for fact in facts if isinstance(fact, Reserve) for fp in fact.fps}

        assert {said[fp][0] for fp in pages} <= {"fetch"}
        assert {fp: said[fp][:2] for fp in ended} == ended
        assert {said[fp][0] for fp in asked} <= {"permit_first"}
        assert all(
            any(verdict == "robots_first" and key == host for verdict, _, key in said.values()) for host in robots
        )
        served = {said[fp][2] for fp in (*pages, *ended, *asked)} | robots
        assert {key for verdict, _, key in said.values() if verdict in ("fetch", "robots_first")} <= served
        for request in sent.requests:
            self.leaves(request)
        if facts:
            crawl.fold(*facts)
        return len(pages), len(ended), len(robots)


def a_walk(seed: int, delay_s: float, concurrency: int, spec: dict[str, Any]) -> list[int]:
    sim = Foretold(seed, delay_s=delay_s, concurrency=concurrency, sites=4)
    sim.job(**spec)
    sim.links(15)
    counts = [0, 0, 0]
    for _ in range(40):
        counts = [before + now for before, now in zip(counts, sim.compare(), strict=True)]
        sim.happen()
    return counts


@pytest.mark.parametrize(("delay_s", "concurrency", "spec"), CASES)
def test_explain_says_what_dispatch_does(delay_s: float, concurrency: int, spec: dict[str, Any]) -> None:
    counts = [sum(each) for each in zip(*(a_walk(seed, delay_s, concurrency, spec) for seed in range(2)), strict=True)]
    assert all(count > 0 for count in counts), counts


def test_of_a_blocked_host_explain_says_that_its_turn_ends_it() -> None:
    sim = Foretold(9, delay_s=0.0, concurrency=1, sites=1)
    sim.job()
    sim.links(3)
    sim.crawl.fold(HostChanged(key="h0.example", blocked=True))
    assert sim.compare()[1] == 3
