"""What holds a job back is one sentence that a person can act on."""

import pytest

from odradek.contracts import Counters, JobRecord, Progress
from odradek_api.core.limiting import limiting_reason
from odradek_api.core.standing import Standing

FLEET = {"scheduler": 1, "fetcher": 2, "parser": 1, "indexer": 1}


def a_report(partition: int = 0, *, pending: int = 5, **changes: object) -> Progress:
    counters = Counters(accepted=pending, pending=pending)
    fields = {"job": "j", "partition": partition, "offset": 1, "epoch": 1, "counters": counters} | changes
    return Progress(**fields)  # type: ignore[arg-type]


def a_standing(*reports: Progress, **record: object) -> Standing:
    fields = {"job": "j", "spec": {"politeness": {"delay": 10.0}}, "seeded": True} | record
    return Standing(JobRecord(**fields), reports, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reports", "running", "sentence"),
    [
        (
            (
                a_report(hosts_open=2, hosts_waiting=2, in_flight=1),
                a_report(1, hosts_open=1, hosts_waiting=1, in_flight=1),
            ),
            FLEET,
            "3 hosts are waiting for their 10 s delay; 0 fetchers idle.",
        ),
        ((a_report(hosts_open=1, hosts_waiting=1),), FLEET, "1 host is waiting for its 10 s delay; 2 fetchers idle."),
        ((a_report(hosts_open=1, hosts_waiting=1),), {}, "1 host is waiting for its 10 s delay."),
        (
            (a_report(hosts_open=1, hosts_waiting=1, at_ms=1000, next_due_ms=301_000),),
            FLEET,
            "1 host is waiting; the next fetch, such as a retry, is due in 300 s; 2 fetchers idle.",
        ),
        (
            (a_report(hosts_open=1, hosts_waiting=1, limiting="All 1 hosts rest, because they asked for it."),),
            FLEET,
            "1 host is waiting because it asked for it or does not answer; 2 fetchers idle.",
        ),
        ((a_report(hosts_open=4, in_flight=64),), FLEET, "The fetchers are busy: 64 requests are out."),
        ((a_report(hosts_open=4),), FLEET | {"fetcher": 0}, "No fetcher is running."),
        ((a_report(hosts_open=4),), FLEET | {"scheduler": 0}, "No scheduler is running."),
        ((a_report(pending=0),), FLEET | {"indexer": 0}, "No indexer is running."),
        ((a_report(pending=0),), FLEET, None),
        (
            (a_report(limiting="It replays."), a_report(1), a_report(2, limiting="It replays.")),
            FLEET,
            "It replays. (2 of 3 partitions)",
        ),
        ((a_report(limiting="It replays."),), FLEET, "It replays."),
        (
            (
                a_report(
                    hosts_open=3, hosts_waiting=3,
                    limiting="All 3 hosts rest, 1 of them because they asked for it or do not answer.",
                ),
            ),
            FLEET,
            "3 hosts are waiting, some because they asked for it or do not answer; 2 fetchers idle.",
        ),
        ((), FLEET, None),
    ],
)  # fmt: skip
def test_the_sentence(reports: tuple[Progress, ...], running: dict[str, int], sentence: str | None) -> None:
    assert limiting_reason(a_standing(*reports), running) == sentence


def test_a_job_that_does_not_run_is_held_back_by_nothing() -> None:
    assert limiting_reason(a_standing(a_report(), wanted="paused"), FLEET) is None
