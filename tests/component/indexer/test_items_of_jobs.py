"""What a job says of its items is done to each of them, and waited for where it must be."""

import pytest
from bson.decimal128 import Decimal128
from tests.component.indexer.fakes import JOB, KnownJobs, MemoryCollection, an_item, records
from tests.component.indexer.test_items import indexing

from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done
from odradek_indexer.consuming import ItemRecords
from odradek_indexer.items import ItemStore
from odradek_indexer.knowing import KnownRules


async def test_items_go_into_the_collection_that_their_job_names() -> None:
    shared, own = MemoryCollection(), MemoryCollection()
    jobs = KnownJobs(job2={"items": {"collection": "books"}})
    collections = {"items": ItemStore(shared), "books": ItemStore(own)}  # type: ignore[arg-type]  # fakes
    index = ItemRecords(collections.__getitem__, KnownRules(jobs))
    delivered = records(an_item("1"), an_item("2", id="job2:2", job="job2"), an_item("3"))

    results = await index(delivered)

    assert results == [Done(record) for record in delivered]
    assert set(shared.documents) == {f"{JOB}:1", f"{JOB}:3"}
    assert set(own.documents) == {"job2:2"}


async def test_decimal_fields_of_the_specification_are_stored_as_decimals() -> None:
    collection = MemoryCollection()
    extract = [{"type": "book", "fields": {"price": {"css": ".price", "type": "decimal"}}}]

    await indexing(collection, KnownJobs(**{JOB: {"extract": extract}}))(records(an_item()))

    assert collection.documents["job-1:1"]["data"]["price"] == Decimal128("19.90")


async def test_items_of_a_deleted_job_are_kept_as_they_came() -> None:
    collection = MemoryCollection()

    await indexing(collection)(records(an_item(job="gone", id="gone:1")))

    assert collection.documents["gone:1"]["data"] == an_item().data


async def test_an_item_whose_job_may_still_come_waits_for_it() -> None:
    shared, own, jobs = MemoryCollection(), MemoryCollection(), KnownJobs()
    collections = {"items": ItemStore(shared), "books": ItemStore(own)}  # type: ignore[arg-type]  # fakes
    index = ItemRecords(collections.__getitem__, KnownRules(jobs, patience_s=0.0))
    delivered = records(an_item("2", id="job2:2", job="job2"))
    jobs.read = False
    with pytest.raises(InfrastructureAway, match="job2 may be"):
        await index(delivered)

    jobs.rules |= KnownJobs(job2={"items": {"collection": "books"}}).rules
    await index(delivered)

    assert (set(shared.documents), set(own.documents)) == (set(), {"job2:2"})


async def test_nothing_is_stored_before_the_jobs_have_been_read() -> None:
    jobs = KnownJobs()
    jobs.ready = False
    collection = MemoryCollection()

    with pytest.raises(InfrastructureAway, match="topic jobs"):
        await indexing(collection, jobs)(records(an_item()))
    assert collection.documents == {}
