"""One command crawls a site end to end, on Apache Kafka itself."""

from pathlib import Path

import pytest
from tests.e2e.crawling import Command, catalogue_job

from odradek.testing.site import Catalogue, Site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def test_every_page_is_kept_once_and_the_ledger_balances(tmp_path: Path) -> None:
    async with Site(Catalogue(pages=300, hosts=6, port=0, words_per_card=10)) as site:
        outcome = await Command(tmp_path, catalogue_job(site.catalogue)).run()

        pages = site.seen.pages()

    assert outcome.code == 0, outcome.said
    assert outcome.result["state"] == "complete"
    assert outcome.result["pages"] == 300
    assert outcome.result["items"] == 3000
    assert outcome.result["audit"]["balanced"] is True
    assert len({line["_id"] for line in outcome.lines}) == len(outcome.lines) == 3000
    assert dict(pages) == {f"/p/{page}.html": 1 for page in range(300)}


async def test_the_same_command_again_reports_the_finished_crawl_without_a_request(tmp_path: Path) -> None:
    async with Site(Catalogue(pages=20, hosts=2, port=0, words_per_card=10)) as site:
        command = Command(tmp_path, catalogue_job(site.catalogue))
        first = await command.run()
        asked = site.seen.answers.total()
        second = await command.run()

        assert site.seen.answers.total() == asked
    assert (second.code, second.result) == (first.code, first.result) == (0, first.result)
