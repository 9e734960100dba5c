"""Takes the pictures of docs/console.md from a furnished stage.

python -m tests.e2e.console.pictures --to docs/images
"""

import argparse
import base64
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.e2e.console.browser import DESKTOP, PHONE, Browser, browsing
from tests.e2e.console.serving import served
from tests.e2e.console.staged import Stage
from tests.e2e.console.staged_store import JOB

from odradek.testing.site import Catalogue

MOVED_S = 25
"""So long a job is watched before its picture is taken, so that its charts have something to show."""
PAGES = {
    "console-jobs": ("#/", "light", DESKTOP),
    "console-ledger": (f"#/jobs/{JOB}/ledger", "light", DESKTOP),
    "console-failures": (f"#/jobs/{JOB}/failures", "light", DESKTOP),
    "console-logs": ("#/logs", "light", DESKTOP),
    "console-hosts": ("#/hosts", "dark", DESKTOP),
    "console-documents": ("#/documents", "light", DESKTOP),
    "console-job-dark": (f"#/jobs/{JOB}", "dark", DESKTOP),
    "console-phone": (f"#/jobs/{JOB}", "light", PHONE),
    "console-phone-dark": ("#/", "dark", PHONE),
}
RULE = {"Type of the records": "book", "One record for each": "article.product", "Field": "title", "Selector": "h3"}
CATALOGUE = Catalogue(pages=1, hosts=1)


class Shop(BaseHTTPRequestHandler):
    """One page of a catalogue, whatever is asked for."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(CATALOGUE.body(0))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def taken(browser: Browser, file: Path) -> None:
    """What the window shows, as a PNG."""
    time.sleep(1)
    shot = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    file.write_bytes(base64.b64decode(shot))
    print(file, file.stat().st_size)  # noqa: T201  (what this command says)


def a_new_job(browser: Browser, seed: str) -> None:
    """The form, filled in, and what its rule finds on a page."""
    browser.open("#/new")
    browser.write("Seeds", seed)
    browser.write("Name", "books")
    browser.write("Page limit", "500")
    browser.click("Add a rule")
    for name, text in RULE.items():
        browser.write(name, text)
    browser.click("Try the rules")
    browser.see("10 records", deadline_s=60)
    browser.run("document.activeElement.blur(); scrollTo(0, 620)")


def main() -> None:
    """Take all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/images"))
    folder = parser.parse_args().to
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ODRADEK_ALLOW_PRIVATE_NETWORKS"] = "1"
    shop = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    stage = Stage().furnish()
    with served(stage.world, each_second=stage.tick) as address, browsing(address) as browser:
        time.sleep(MOVED_S)
        for name, (place, theme, size) in PAGES.items():
            browser.theme(theme)
            browser.size(*size, phone=size == PHONE)
            browser.open(place)
            time.sleep(3)
            taken(browser, folder / f"{name}.png")
        browser.theme("light")
        browser.size(*DESKTOP)
        a_new_job(browser, f"http://127.0.0.1:{shop.server_port}/")
        taken(browser, folder / "console-new-job.png")


if __name__ == "__main__":
    main()
