"""What a service does with a request whose job it does not know, or knows in an older version."""

import time
from collections.abc import Iterator

import pytest

from odradek.contracts import JobRecord, encode
from odradek.errors import InfrastructureAway
from odradek.kafka.job_records import JobRecords
from odradek.kafka.records import Send
from odradek.testing.broker import MockBroker, put
from odradek.testing.records import a_request
from odradek.topics import JOBS

PATIENCE_S = 0.5


@pytest.fixture
def known() -> Iterator[tuple[JobRecords, MockBroker]]:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, Send(JOBS, "job-1", encode(JobRecord(job="job-1", spec={}, version=2))))
        jobs = JobRecords(settings, PATIENCE_S)
        jobs.view.start()
        assert jobs.view.wait_ready(20)
        yield jobs, broker
        jobs.stop()


async def test_thousands_of_pages_of_a_deleted_job_are_waited_for_once(known: tuple[JobRecords, MockBroker]) -> None:
    jobs, _ = known
    begun = time.monotonic()

    found = [await jobs.record(a_request(job="deleted", url=f"https://a.example/{page}")) for page in range(1000)]

    assert set(found) == {None}
    assert PATIENCE_S <= time.monotonic() - begun < 10 * PATIENCE_S


async def test_a_job_is_never_taken_for_deleted_before_the_topic_is_read_to_its_end(
    known: tuple[JobRecords, MockBroker],
) -> None:
    """A broker that is away holds up the view; what was asked for meanwhile must not become a dead letter."""
    jobs, broker = known
    jobs.view.stop()
    put(broker.settings(), Send(JOBS, "new", encode(JobRecord(job="new", spec={}, version=1))))

    for _ in range(2):
        with pytest.raises(InfrastructureAway, match="of job new has not come"):
            await jobs.record(a_request(job="new", spec_version=1))


async def test_a_job_that_comes_after_all_is_found(known: tuple[JobRecords, MockBroker]) -> None:
    jobs, broker = known
    assert await jobs.record(a_request(job="late")) is None

    put(broker.settings(), Send(JOBS, "late", encode(JobRecord(job="late", spec={}, version=1))))
    deadline = time.monotonic() + 20
    while jobs.view.get("late") is None:
        assert time.monotonic() < deadline
    record = await jobs.record(a_request(job="late", spec_version=1))

    assert (record.job if record else None) == "late"


async def test_a_version_that_has_not_come_is_waited_for_again_and_again(known: tuple[JobRecords, MockBroker]) -> None:
    jobs, _ = known
    record = await jobs.record(a_request(spec_version=2))

    assert (record.version if record else None) == 2
    for _ in range(2):
        with pytest.raises(InfrastructureAway, match="version 3 of job job-1"):
            await jobs.record(a_request(spec_version=3))
