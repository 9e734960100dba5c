"""A crawl with an archive and its items in a collection of its own, through kill -9 of the indexer."""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.chaos.test_kills import service_pid, until_pages
from tests.component.indexer.pages import archived, is_valid
from tests.e2e.crawling import Command, catalogue_job

from odradek.testing.site import Catalogue, Site

PAGES = int(os.environ.get("CHAOS_PAGES", "300"))
DEADLINE_S = 600

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(DEADLINE_S)]


def found_in(folder: Path) -> tuple[Counter[str], bool, int]:
    """How often each page's URL lies in the archive, whether all files are valid, and their number."""
    urls = Counter(url for url, status, _ in archived(folder) if "/p/" in url and status == "200")
    return urls, is_valid(folder), len(list(folder.rglob("*.warc.gz")))


async def test_every_page_lies_in_the_archive_once_though_the_indexer_was_killed(tmp_path: Path) -> None:
    async with Site(Catalogue(pages=PAGES, port=0, words_per_card=10)) as site:
        job = catalogue_job(site.catalogue, archive={"warc": "warc"}, items={"collection": "own-books"})
        command = Command(tmp_path, job)
        process = await command.start()
        for place in (1, 2):
            await until_pages(site, PAGES * place // 3)
            os.kill(await service_pid(process.pid, "indexer"), signal.SIGKILL)
        outcome = await command.end(process, DEADLINE_S)
        wanted = {site.catalogue.url(page) for page in range(PAGES)}

    urls, valid, files = await asyncio.to_thread(found_in, tmp_path / "warc")
    print(f"{PAGES} pages in {files} files\n{outcome.said}")  # noqa: T201  (a figure to read)
    assert outcome.code == 0, outcome.said
    assert (outcome.result["pages"], outcome.result["items"], len(outcome.lines)) == (PAGES, PAGES * 10, PAGES * 10)
    assert valid
    assert urls == Counter(wanted)
