"""Scrapy on the catalogue site: every link, ten records a page; run by `tests.bench.versus` with Scrapy's Python.

Prints one JSON object: pages, items, CPU seconds of the process, seconds, bytes of memory at most.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess


class Catalogue(scrapy.Spider):
    """One start URL."""

    name = "catalogue"
    start_urls = [sys.argv[1]]
    pages = 0

    def parse(self, response: Any) -> Iterator[Any]:
        """Records, then links."""
        type(self).pages += 1
        for card in response.css("article.product"):
            texts = {name: card.css(f".{name}::text").get() for name in ("title", "price", "stock", "about")}
            yield {"sku": card.attrib["data-sku"], "url": response.url, **texts}
        yield from response.follow_all(css="a[href]")


def main() -> None:
    """Crawl and tell."""
    crawler = CrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "CONCURRENT_REQUESTS": 64,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {sys.argv[2]: {"format": "jsonlines", "overwrite": True}},
        }
    )
    crawler.crawl(Catalogue)
    began = time.monotonic()
    crawler.start()
    seconds, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    with open(sys.argv[2], encoding="utf-8") as lines:  # noqa: PTH123  (Scrapy's Python may be any)
        items = sum(1 for _ in lines)
    told = {
        "pages": Catalogue.pages,
        "items": items,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_rss": used.ru_maxrss * 1024,
    }
    print(json.dumps({**told, "seconds": seconds}))  # noqa: T201  (its answer)


if __name__ == "__main__":
    main()
