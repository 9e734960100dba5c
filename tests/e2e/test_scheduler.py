"""What the scheduler promises on Apache Kafka itself, killed or not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.e2e.scheduling import JOB, SchedulerProcess, World, until
from tests.embedded import kafka

from odradek.contracts import Reached
from odradek.kafka.admin import apply_topics
from odradek.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HOSTS, PAGES = 30, 40
ALL = HOSTS * PAGES


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    async with kafka(tmp_path) as address:
        settings = Settings(
            kafka_bootstrap=address, partitions=4, session_timeout=6.0, in_flight=64, state_dir=tmp_path / "state"
        )
        await asyncio.to_thread(apply_topics, settings)
        yield settings


def ledger(world: World) -> dict[str, int]:
    names = ("accepted", "pending", "fetched", "kept", "skipped", "failed", "redirected", "not_modified", "refused")
    return {name: world.total(name) for name in names}


EVERY_PAGE_FETCHED = dict.fromkeys(("accepted", "fetched", "kept"), ALL) | dict.fromkeys(
    ("pending", "skipped", "failed", "redirected", "not_modified", "refused"), 0
)


def announced(world: World, within_s: float) -> Reached:
    until(lambda: world.reached() is not None, within_s, f"not complete: {ledger(world)}")
    reached = world.reached()
    assert reached is not None
    return reached


def crawl(settings: Settings, log: Path) -> None:
    with World(settings, HOSTS, PAGES) as world, SchedulerProcess(settings, log) as scheduler:
        world.submit()
        reached = announced(world, 60)

        assert (reached.job, reached.state, reached.epoch) == (JOB, "complete", 1)
        assert ledger(world) == EVERY_PAGE_FETCHED
        assert world.total("links_found") == 2 * ALL
        assert world.total("duplicates") == ALL
        assert (world.recounted("accepted"), world.recounted("fetched")) == (ALL, ALL)
        assert set(world.requests.values()) == {1}
        assert scheduler.stop(within_s=5) == 0


async def test_every_url_is_asked_for_once_and_the_job_completes_with_a_balanced_ledger(
    settings: Settings, tmp_path: Path
) -> None:
    await asyncio.to_thread(crawl, settings, tmp_path / "scheduler.log")


def asked_for_more_than(world: World, urls: float) -> Callable[[], bool]:
    return lambda: len(world.requests) > urls


def crawl_with_kills(settings: Settings, log: Path) -> None:
    with World(settings, HOSTS, PAGES) as world:
        world.submit()
        for share in (0.2, 0.5):
            with SchedulerProcess(settings, log) as scheduler:
                until(asked_for_more_than(world, share * ALL), 60, "the crawl does not go on")
                scheduler.kill()
        with SchedulerProcess(settings, log):
            announced(world, 60)

        assert ledger(world) == EVERY_PAGE_FETCHED
        assert world.total("links_found") == ALL + world.total("duplicates")
        assert (world.recounted("accepted"), world.recounted("fetched")) == (ALL, ALL)
        assert len(world.requests) == ALL


async def test_a_scheduler_killed_twice_loses_no_url_and_counts_none_twice(settings: Settings, tmp_path: Path) -> None:
    await asyncio.to_thread(crawl_with_kills, settings, tmp_path / "scheduler.log")
