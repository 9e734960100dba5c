"""A purged job: its rows go bit by bit, none of its facts counts any more, and others notice nothing."""

from itertools import pairwise

from tests.unit.scheduler.harness import Crawl, MemoryTables, a_job, a_link

from odradek.contracts import Batch, JobPurged, Parsed, PatternReleased, Reserve, RetryAsked, SitemapsListed
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.loads import counts_key
from odradek_scheduler.core.purging import AT_ONCE, TICK_MS, Purging
from odradek_scheduler.core.state import unpack
from odradek_scheduler.core.tables import value_offset

PURGED = JobPurged(job="j", at_ms=5)


def rows(crawl: Crawl, job: str = "j") -> dict[str, int]:
    """Rows of a job in each table, its own value not counted."""
    return {
        table: sum(f"{job}\0".encode() in (key[: len(job) + 1], key[2 : len(job) + 3]) for key in values)
        for table, values in crawl.tables.values.items()
        if table != "hosts"
    }


def a_crawl_of_two_jobs() -> Crawl:
    crawl = Crawl()
    scope = {"max_pages": 40, "max_pages_per_host": 30}
    for job in ("j", "jj"):
        crawl.fold(a_job(job, scope=scope))
        crawl.fold(*(a_link(f"{job}-{number}", job=job, host=f"{job}.example") for number in range(50)))
        crawl.fold(
            SitemapsListed(job=job, key="a.example", origin="https://a.example", sitemaps=("https://a.example/s",))
        )
    for request in crawl.dispatch(credit=20):
        crawl.finish(request)
    return crawl


def settle(crawl: Crawl) -> None:
    for _ in range(50):
        crawl.after(ms=TICK_MS).dispatch(credit=0)


NOTHING = {"seen": 0, "backlog": 0, "ledger": 0}


def test_every_row_of_it_ends_and_none_of_another_job() -> None:
    crawl = a_crawl_of_two_jobs()
    others = rows(crawl, "jj")
    assert min(rows(crawl).values()) > 0

    crawl.fold(PURGED)
    settle(crawl)

    assert rows(crawl) == NOTHING
    assert rows(crawl, "jj") | {"ledger": 0, "backlog": 0} == others | {"ledger": 0, "backlog": 0}
    assert len(crawl.after(s=5).dispatch()) > 0


def test_every_value_of_it_ends_whatever_it_is_and_none_whose_name_begins_alike() -> None:
    tables = MemoryTables()
    kept = [b"J\0j", b"J\0jj", b"R\0jj", b"L\0jj\0001", b"R\0j-2"]
    gone = [b"R\0j", b"L\0j\0001", b"H\0j\0001", b"K\0j\0001\0a", b"Q\0j\0001\0a\00001", b"T\0j\0001\0a", b"N\0j\0002"]
    gone.append(counts_key("j\0001") + b"a")
    tables.values["ledger"] = dict.fromkeys(kept + gone, b"[1,")
    purging = Purging(tables)

    purging.begin("j")

    assert sorted(key for _, key in purging.take()) == sorted(gone)
    assert purging.wake_at_ms() is None


def test_what_stays_is_one_small_value_in_each_partition() -> None:
    crawl = a_crawl_of_two_jobs()
    crawl.fold(PURGED)
    settle(crawl)

    value = crawl.tables.values["ledger"][b"J\0j"]
    assert unpack(Job, value) == Job(offset=value_offset("ledger", value), version=1, wanted="purged", at_ms=5)
    assert len(value) < 100


def test_no_fact_of_it_counts_any_more() -> None:
    crawl = a_crawl_of_two_jobs()
    crawl.fold(PURGED)
    settle(crawl)
    before = {table: dict(values) for table, values in crawl.tables.values.items()}

    crawl.fold(
        a_job(version=9), a_link("new"),
        Parsed(job="j", fp="j-1", key="a.example", attempt=0, outcome="fetched", at_ms=1),
        Reserve(job="j", fps=("new",)), RetryAsked(job="j", epoch=3),
        PatternReleased(job="j", key="a.example", pattern="a.example/{n}"),
    )  # fmt: skip

    assert crawl.tables.values == before
    assert [report.job for report in crawl.core.progress(crawl.now_ms)] == ["jj"]


def test_one_batch_takes_a_bounded_number_of_rows_along() -> None:
    crawl = Crawl()
    crawl.fold(a_job())
    for first in range(0, 2000, 500):
        crawl.fold(*(a_link(f"{first + number}") for number in range(500)))
    crawl.fold(PURGED)

    left = [rows(crawl)["seen"]]
    while sum(rows(crawl).values()):
        crawl.after(ms=TICK_MS).dispatch()
        left.append(rows(crawl)["seen"])
    assert max(before - after for before, after in pairwise(left)) <= AT_ONCE
    assert len(left) > 4


def test_a_take_over_in_the_midst_goes_on_with_it() -> None:
    crawl = Crawl()
    crawl.fold(a_job())
    for first in range(0, 1500, 500):
        crawl.fold(*(a_link(f"{first + number}") for number in range(500)))
    crawl.fold(PURGED)
    crawl.after(ms=TICK_MS).dispatch()
    assert rows(crawl)["seen"] > 0

    crawl.restart()
    settle(crawl)
    assert rows(crawl) == NOTHING


def test_rows_that_came_back_because_their_tombstones_were_lost_end_at_the_next_take_over() -> None:
    crawl = a_crawl_of_two_jobs()
    before = dict(crawl.tables.values["seen"]), dict(crawl.tables.values["backlog"])
    crawl.fold(PURGED)
    settle(crawl)
    crawl.tables.values["seen"] |= before[0]
    crawl.tables.values["backlog"] |= before[1]

    crawl.restart()
    assert {request.job for request in crawl.dispatch()} <= {"jj"}
    settle(crawl)
    assert rows(crawl) == NOTHING


def test_a_replay_from_before_the_purge_ends_where_the_first_fold_did() -> None:
    """A kill has left the tables ahead of the committed offset."""
    crawl = Crawl()
    batches = [(a_job(),), tuple(a_link(f"{number}") for number in range(9)), (PURGED,), (a_link("late"),)]
    for facts in batches:
        crawl.fold(*facts)
    settle(crawl)
    whole = {table: dict(values) for table, values in crawl.tables.values.items()}

    for again in range(len(batches)):
        crawl.restart()
        crawl.core.resume_at(again)
        for offset, facts in list(enumerate(batches))[again:]:
            crawl.tables.write(crawl.core.fold(Batch(facts=facts), offset))
        crawl.core.resume_at(crawl.offset)
        settle(crawl)
        assert crawl.tables.values == whole
