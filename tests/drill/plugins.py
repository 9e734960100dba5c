"""A plugin that does to its parser what the page's address says: such pages exist, whatever library meets them."""

import os
from collections.abc import Iterator
from typing import Any

from bs4 import BeautifulSoup

from odradek.contracts import PageMeta

NAME = "tests.drill.plugins:suffer"


def suffer(_: BeautifulSoup, page: PageMeta) -> Iterator[dict[str, Any]]:
    """Crash, hang or exhaust the process, or nothing of it."""
    fate = page.request.url.rsplit("/bad/", 1)[-1].partition("-")[0]
    if fate == "crash":
        os.abort()
    while fate == "hang":
        pass
    if fate == "exhaust":
        hoard = [bytes(2**28) for _ in range(10**6)]
        yield {"size": len(hoard)}
