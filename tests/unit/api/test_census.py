"""Lists of jobs from one look at all of them."""

from odradek.contracts import JobRecord
from odradek_api.core.census import Census


def a_job(job: str, name: str | None = None) -> JobRecord:
    return JobRecord(job=job, spec={} if name is None else {"name": name})


def test_a_search_looks_into_ids_and_names_and_counts_what_it_finds() -> None:
    books, shop, other = a_job("b-1", "Great BOOKS"), a_job("books-2"), a_job("o-3", "else")
    census = Census([(books, "running"), (shop, "complete"), (other, "running")])

    assert census.named("books").jobs == [(books, "running"), (shop, "complete")]
    assert census.named("books").counts == {"running": 1, "complete": 1}
    assert census.named("books").named("great").jobs == [(books, "running")]
    assert census.counts == {"running": 2, "complete": 1}


def test_a_search_never_matches_where_id_and_name_meet() -> None:
    assert Census([(a_job("ab", "cd"), "running")]).named("bc").jobs == []
