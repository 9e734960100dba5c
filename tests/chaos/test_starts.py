"""Several schedulers that start at the same moment: every partition is taken over, whatever rebalances follow.

Twelve partitions of Apache Kafka, three schedulers. `STARTS` (default 1; full size 12) is how often they start
together; each time all of them must take partitions over, and then a new URL in every partition be asked for, each
within `WITHIN_S`. Every second time they are killed before, else they leave the group.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.scheduling import SchedulerProcess, World, until
from tests.embedded import kafka

from odradek.kafka.admin import apply_topics
from odradek.settings import Settings
from odradek.urls import partition_of

STARTS = int(os.environ.get("STARTS", "1"))
PARTITIONS, SCHEDULERS = 12, 3
SESSION_S, WITHIN_S = 6.0, 60.0

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120 + STARTS * 70)]


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    async with kafka(tmp_path) as address:
        settings = Settings(
            kafka_bootstrap=address, partitions=PARTITIONS, session_timeout=SESSION_S, state_dir=tmp_path / "state"
        )
        await asyncio.to_thread(apply_topics, settings)
        yield settings


def one_host_in_each_partition() -> list[int]:
    """Numbers of hosts of a `World`, by partition."""
    found: dict[int, int] = {}
    for host in range(10_000):
        found.setdefault(partition_of(f"host{host}.example", PARTITIONS), host)
    return [found[partition] for partition in range(PARTITIONS)]


def starts(settings: Settings, log: Path) -> list[float]:
    """Seconds until every partition had sent something, for each start."""
    hosts, took = one_host_in_each_partition(), []
    with World(settings, hosts=0, pages=0) as world:
        world.submit()
        for number in range(STARTS):
            urls = [f"https://host{host}.example/{number}" for host in hosts]
            logs = [log.with_name(f"{number}-{each}.log") for each in range(SCHEDULERS)]
            with ExitStack() as running, ThreadPoolExecutor(SCHEDULERS) as together:
                began = time.monotonic()
                started = [running.enter_context(SchedulerProcess(settings, each)) for each in logs]
                until(all_have_taken_over(logs), WITHIN_S, "not all take partitions over")
                world.seed(urls)
                asked_for(world, urls)
                took.append(time.monotonic() - began)
                if number % 2 == 0:
                    assert list(together.map(lambda each: each.stop(within_s=8), started)) == [0] * SCHEDULERS
    return took


def all_have_taken_over(logs: list[Path]) -> Callable[[], bool]:
    return lambda: all('"event": "taken_over"' in log.read_text() for log in logs)


def asked_for(world: World, urls: list[str]) -> None:
    def lacking() -> list[int]:
        return [partition for partition, url in enumerate(urls) if not world.requests[url, 0]]

    try:
        until(lambda: not lacking(), WITHIN_S, "")
    except TimeoutError:
        raise AssertionError(f"nothing is asked for from partitions {lacking()}") from None


async def test_every_partition_is_taken_over_when_schedulers_start_at_once(settings: Settings, tmp_path: Path) -> None:
    took = await asyncio.to_thread(starts, settings, tmp_path / "scheduler.log")

    print(f"{STARTS} starts of {SCHEDULERS} schedulers: all had asked after {[round(each, 1) for each in took]} s")  # noqa: T201
    assert len(took) == STARTS
