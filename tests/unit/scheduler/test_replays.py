"""After a kill every key may have a version of its own, of any batch since the committed one; a replay evens it out."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.scheduler.harness import MemoryTables, a_job, a_link

from odradek.contracts import Batch, Fact, JobPurged, Parsed, RunDue
from odradek_scheduler.core.partition import Limits, Partition

Values = dict[Any, dict[bytes, bytes]]


def an_end(fp: str, run: int = 1) -> Parsed:
    return Parsed(job="j", fp=fp, key="a.example", attempt=0, run=run, outcome="fetched", kept=True, at_ms=1)


LIMITS_OF_A_RUN: list[tuple[Fact, ...]] = [
    (a_job(scope={"max_pages": 5, "max_pages_per_host": 3}),),
    (a_link("x"), a_link("y")),
    (an_end("x"),),
    (RunDue(job="j", run=2, at_ms=2),),
    (a_job(version=2, scope={"max_pages": 9, "max_pages_per_host": None}),),
    (a_link("z", run=2),),
    (a_job(version=3, scope={"max_pages": 4, "max_pages_per_host": 1}),),
]
A_PURGE: list[tuple[Fact, ...]] = [
    (a_job(scope={"max_pages": 5}), a_job("other")),
    (a_link("x"), a_link("x", job="other")),
    (JobPurged(job="j", at_ms=3),),
    (a_link("y"), a_link("y", job="other")),
    (a_job(version=2),),
]


def that_stays(values: Values, purged: str) -> Values:
    """Without the rows of a purged job, which go bit by bit afterwards."""
    own = f"{purged}\0".encode()
    return {
        table: {key: value for key, value in rows.items() if own not in (key[: len(own)], key[2 : 2 + len(own)])}
        for table, rows in values.items()
    }


def folded(tables: MemoryTables, log: list[tuple[Fact, ...]], first: int) -> Iterator[Values]:
    """The tables after each batch from the first one on."""
    core = Partition(0, 1, tables, Limits())
    core.load()
    core.resume_at(first)
    for offset, facts in list(enumerate(log))[first:]:
        tables.write(core.fold(Batch(facts=facts), offset))
        yield {table: dict(values) for table, values in tables.values.items()}


def mixtures(states: list[Values], first: int) -> Iterator[Values]:
    """One key as it was at the committed offset and all others newest, and the other way round; and at every time."""
    old, new = states[first], states[-1]
    names = [(table, key) for table, values in new.items() for key in values]
    for table, key in names:
        for state in states[first:]:
            for rest in (old, new):
                mixed = {name: dict(values) for name, values in rest.items()}
                if key in state[table]:
                    mixed[table][key] = state[table][key]
                else:
                    mixed[table].pop(key, None)
                yield mixed


@pytest.mark.parametrize(("log", "purged"), [(LIMITS_OF_A_RUN, ""), (A_PURGE, "j")], ids=["limits of a run", "a purge"])
def test_whatever_versions_the_keys_have_a_replay_comes_to_the_same(log: list[tuple[Fact, ...]], purged: str) -> None:
    states = list(folded(MemoryTables(), log, 0))
    tried = 0
    for first in range(len(log) - 1):
        for mixed in mixtures(states, first):
            tables = MemoryTables()
            tables.values = mixed
            *_, last = folded(tables, log, first + 1)
            assert that_stays(last, purged) == that_stays(states[-1], purged), (first, tried)
            tried += 1
    assert tried > 100
