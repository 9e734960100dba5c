"""A crawl watched and steered in a browser, from the form to the file, on the whole embedded stack."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.e2e.console.browser import Browser, browsing
from tests.e2e.console.installing import need_chromium

from odradek.engines.engine import free_port
from odradek.testing.site import Catalogue, Site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PAGES = 60
BROKEN = "/p/7.html"


class Flaky(Site):
    """A catalogue with one page that fails until it is mended."""

    mended = False

    def answer(self, host: str, path: str) -> bytes:
        whole = super().answer(host, path)
        if path == BROKEN and not self.mended:
            return b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nlate"
        return whole


@asynccontextmanager
async def the_stack(folder: Path) -> AsyncIterator[str]:
    """`odradek up` in a folder of its own; gives the gateway's address."""
    port = free_port()
    command = (
        sys.executable,
        "-m",
        "odradek",
        "up",
        "--port",
        str(port),
        "--state",
        str(folder),
        "--allow-private-networks",
    )
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, "ODRADEK_CONTACT_URL": "http://127.0.0.1/"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    said = bytearray()

    async def listen() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            said.extend(line)

    listening = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(120):
            while b"Odradek is at" not in said:
                assert process.returncode is None, said.decode()
                await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(process.wait(), 60)
        except TimeoutError:
            process.kill()
            await process.wait()
        await listening


@pytest.fixture(scope="module", autouse=True)
def chromium() -> None:
    need_chromium()


async def test_a_job_is_submitted_watched_retried_and_exported(tmp_path: Path) -> None:
    catalogue = Catalogue(pages=PAGES, hosts=2, port=0, words_per_card=10)
    async with Flaky(catalogue) as site, the_stack(tmp_path / "state") as address:
        with browsing(address, tmp_path) as browser:
            await asyncio.to_thread(submitted, browser, site)
            await asyncio.to_thread(finished, browser, f"{PAGES - 1} pages kept and one failed")
            await asyncio.to_thread(failure_found, browser, site)
            site.mended = True
            await asyncio.to_thread(retried, browser)
            await asyncio.to_thread(accounted, browser)
            lines = await asyncio.to_thread(exported, browser, tmp_path)
            complaints = browser.complaints()

    assert len(lines) == PAGES * 10
    assert len({line["data"]["sku"] for line in lines}) == PAGES * 10
    assert complaints == []


def submitted(browser: Browser, site: Site) -> None:
    browser.open("#/")
    browser.see("No thread on the spool yet")
    browser.click("Start the first job")
    browser.write("Seeds", site.catalogue.url(0))
    browser.write("Name", "catalogue")
    browser.write("Domains", "\n".join(site.catalogue.addresses()))
    browser.write("Delay between", "0s")
    browser.write("Fetches of a host", "8")
    browser.click("Add a rule")
    browser.write("One record for each", "article.product")
    browser.write("Field", "sku")
    browser.write("Selector", "&")
    browser.write("Attribute", "data-sku")
    browser.click("Identifies the record")
    browser.click("Try the rules")
    browser.see("10 records", "0000000-0")
    browser.click("Anything else")
    browser.write("More of the specification", json.dumps({"fetch": {"retries": 0}}))
    browser.see("retries: 0", 'css: "&"')
    browser.click("Start the job")


def finished(browser: Browser, what: str) -> None:
    browser.until(lambda: browser.find(".heading .badge").text == "Complete", what, deadline_s=90)


def failure_found(browser: Browser, site: Site) -> None:
    browser.see("What became of URLs, each second", "Failed\n1")
    browser.click("Failures")
    browser.see("http_503", "The server failed.", BROKEN)
    browser.driver.find_element("partial link text", BROKEN).click()
    browser.see("In the frontier", "What happened to it", "503")
    browser.driver.back()
    browser.see("Retry http_503")


def retried(browser: Browser) -> None:
    browser.click("Retry http_503")
    browser.see("is open again")
    browser.until(
        lambda: browser.find(".legend [data-outcome=failed] dd").text == "0", "no failure left", deadline_s=60
    )
    finished(browser, "complete again")


def accounted(browser: Browser) -> None:
    browser.click("Ledger")
    browser.click("Count every URL again")
    browser.see("Balanced: every URL is accounted for", f"{PAGES}\nAccepted")


def exported(browser: Browser, folder: Path) -> list[dict[str, dict[str, str]]]:
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.click("Items")
    browser.until(lambda: len(browser.driver.find_elements("css selector", "tbody tr")) == 50, "a page of items")
    browser.click("Export as JSON lines")
    file = browser.until(lambda: next(folder.glob("catalogue-*.jsonl")), "downloaded")
    return [json.loads(line) for line in file.read_text().splitlines()]
