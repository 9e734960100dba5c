"""Specifications that no gateway has written: a partition goes on, whatever lies in its log (rule M)."""

from typing import Any

import pytest

from odradek.contracts import JobChanged

from .harness import Crawl, a_job, a_link

UNSOUND: list[dict[str, Any]] = [
    {"scope": None},
    {"scope": 3},
    {"scope": {"max_pages": "many"}},
    {"scope": {"max_pages": 1.5}},
    {"scope": {"max_pages": 10**30}},
    {"scope": {"max_pages_per_host": [1]}},
    {"schedule": "daily"},
    {"schedule": {"fresh_by": 8}},
    {"expires": {}},
    {"politeness": None},
    {"extract": 1},
]


@pytest.mark.parametrize("spec", UNSOUND, ids=str)
def test_other_jobs_go_on_beside_it_also_after_a_restart(spec: dict[str, Any]) -> None:
    crawl = Crawl()
    crawl.fold(JobChanged(job="odd", version=1, epoch=1, spec=spec))
    crawl.fold(JobChanged(job="odd", version=2, epoch=1, spec=spec | {"meta": {}}))
    crawl.fold(a_link("x", job="odd"), a_job(), a_link("a"))
    assert crawl.sends() == ["a"]
    crawl.restart()
    crawl.fold(a_link("y", job="odd"), a_link("b"))
    assert sorted(crawl.sends()) == ["a", "b"]
