"""Kill -9 each service in the middle of a crawl: the totals stay exact and the ledger balances."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.e2e.crawling import Command, catalogue_job

from odradek.testing.site import Catalogue, Site

PAGES = int(os.environ.get("CHAOS_PAGES", "1000"))
VICTIMS = ("scheduler", "fetcher", "parser", "indexer")
DEADLINE_S = 900

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(DEADLINE_S)]


def _service(command: int, service: str) -> int | None:
    for process in psutil.Process(command).children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if process.cmdline()[-2:] == ["service", service]:
                return process.pid
    return None


async def service_pid(command: int, service: str) -> int:
    """The process of a service under the running command, as soon as there is one: it may just be started again."""
    end = time.monotonic() + DEADLINE_S
    while (pid := _service(command, service)) is None:
        assert time.monotonic() < end, f"no {service} is running"
        await asyncio.sleep(0.05)
    return pid


async def until_pages(site: Site, wanted: int) -> None:
    end = time.monotonic() + DEADLINE_S
    while len(site.seen.pages()) < wanted:
        assert time.monotonic() < end, f"only {len(site.seen.pages())} pages were asked for"
        await asyncio.sleep(0.05)


async def test_a_crawl_survives_the_death_of_each_service(tmp_path: Path) -> None:
    async with Site(Catalogue(pages=PAGES, port=0, words_per_card=30)) as site:
        command = Command(tmp_path, catalogue_job(site.catalogue))
        process = await command.start()
        for place, victim in enumerate(VICTIMS, 1):
            await until_pages(site, PAGES * place // (len(VICTIMS) + 1))
            os.kill(await service_pid(process.pid, victim), signal.SIGKILL)
        outcome = await command.end(process, DEADLINE_S)
        asked = site.seen.pages()

    audit = outcome.result.get("audit", {})
    print(f"{PAGES} pages, {asked.total() - PAGES} fetched twice, late {audit.get('late')}\n{outcome.said}")  # noqa: T201
    assert outcome.code == 0, outcome.said
    assert (outcome.result["pages"], outcome.result["items"]) == (PAGES, PAGES * 10)
    assert audit["balanced"] is True
    assert (audit["accepted"], audit["fetched"], audit["pending"]) == (PAGES, PAGES, 0)
    assert len({line["_id"] for line in outcome.lines}) == len(outcome.lines) == PAGES * 10
    assert all(f"{victim}" in outcome.said for victim in VICTIMS)
