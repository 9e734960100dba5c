"""What retention deletes before the scheduler has read it (rule M)."""

import asyncio
from pathlib import Path

import psutil
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.chaos.cluster import Cluster, until

from odradek.contracts import Batch, encode
from odradek.kafka.client import connection_config
from odradek.kafka.ends import Ends
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import put
from odradek.testing.site import Catalogue, Site
from odradek.topics import FRONTIER, GROUPS

PAGES = 100
UNREAD = 20

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


def delete_below(settings: Settings, partition: int, offset: int) -> None:
    """As retention does it."""
    place = TopicPartition(settings.topic(FRONTIER), partition, offset)
    admin = AdminClient(connection_config(settings))
    for future in admin.delete_records([place]).values():
        future.result(timeout=20)


async def test_a_scheduler_whose_next_records_were_deleted_goes_on_where_the_log_begins(tmp_path: Path) -> None:
    """Also when it was one record alone, or the scheduler lived on; what lay behind is committed, nothing is lost."""
    async with Cluster(tmp_path, schedulers=1, fetchers=1) as cluster, Site(Catalogue(pages=PAGES, port=0)) as site:
        settings = cluster.settings
        ends = Ends(settings)

        async def all_committed() -> bool:
            lies = await asyncio.to_thread(ends.end_offsets, FRONTIER)
            return await asyncio.to_thread(ends.passed, GROUPS[FRONTIER], FRONTIER, lies)

        async def crawled() -> tuple[bool, int]:
            scope = {"allowed_domains": site.catalogue.addresses()}
            job = await cluster.submit(seeds=[site.catalogue.url(0)], scope=scope, politeness={"delay": "0s"})
            await cluster.until_state(job, "complete", 100)
            await until(all_committed, 60, lambda: f"committed {ends.committed(GROUPS[FRONTIER], FRONTIER)}")
            audit = await cluster.audit(job)
            return audit["balanced"], audit["fetched"]

        found = [await crawled()]
        for deleted, then in ((1, psutil.Process.kill), (UNREAD - 1, psutil.Process.kill), (1, psutil.Process.resume)):
            scheduler = cluster.first_scheduler()
            scheduler.suspend()
            await asyncio.to_thread(put, settings, *(Send(FRONTIER, "", encode(Batch(facts=()))),) * UNREAD)
            end = (await asyncio.to_thread(ends.end_offsets, FRONTIER))[0]
            await asyncio.to_thread(delete_below, settings, 0, end - UNREAD + deleted)
            then(scheduler)
            found.append(await crawled())
        ends.close()

    assert found == [(True, PAGES)] * 4
