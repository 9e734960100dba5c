"""Ctrl-C drains, and the same command goes on where it stopped."""

import os
import signal
from pathlib import Path

import pytest
from tests.chaos.test_kills import until_pages
from tests.e2e.crawling import Command, catalogue_job

from odradek.testing.site import Catalogue, Site

PAGES = int(os.environ.get("CHAOS_PAGES", "600"))
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


async def test_an_interrupted_crawl_is_finished_by_the_same_command(tmp_path: Path) -> None:
    async with Site(Catalogue(pages=PAGES, port=0, words_per_card=30)) as site:
        command = Command(tmp_path, catalogue_job(site.catalogue))
        process = await command.start()
        await until_pages(site, PAGES * 2 // 5)
        process.send_signal(signal.SIGINT)
        first = await command.end(process, 300)
        interrupted_at = len(site.seen.pages())
        second = await command.run(600)
        asked = site.seen.pages()

    twice = asked.total() - PAGES
    print(f"interrupted at {interrupted_at} pages, {twice} fetched twice")  # noqa: T201  (a figure to be read)
    assert (first.code, first.result["state"]) == (130, "paused"), first.said
    assert first.result["audit"]["in_flight"] == 0
    assert interrupted_at < PAGES
    assert (second.code, second.result["state"], second.result["pages"]) == (0, "complete", PAGES), second.said
    assert second.result["job_id"] == first.result["job_id"]
    assert second.result["audit"]["balanced"] is True
    assert len({line["_id"] for line in second.lines}) == len(second.lines) == PAGES * 10
