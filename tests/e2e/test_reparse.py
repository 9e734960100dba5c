"""New rules over pages that were fetched, on the whole stack: nothing is asked of the site, nor told to the ledger.

`REPARSE_PAGES` (100) says how many pages the site has.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.chaos.cluster import Cluster, until
from tests.e2e.crawling import CARDS_RULE

from odradek.testing.site import Catalogue, Site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PAGES = int(os.environ.get("REPARSE_PAGES", "100"))
FIELDS = CARDS_RULE["fields"]
NEW_FIELDS = {**FIELDS, "stock": {"css": ".stock"}}  # type: ignore[dict-item]  # a rule is made of plain values


def the_rules(fields: Any) -> list[dict[str, Any]]:
    return [{**CARDS_RULE, "fields": fields}]


async def the_items(cluster: Cluster, job: str) -> dict[str, dict[str, Any]]:
    """Data of every item by its id."""
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = None
    while True:
        asked = {"limit": "500"} | ({"cursor": cursor} if cursor else {})
        answer = (await cluster.client.get(f"/v1/jobs/{job}/items", params=asked)).json()
        found |= {each["_id"]: each["data"] for each in answer["data"]}
        cursor = answer["next_cursor"]
        if cursor is None:
            return found


async def reparsed(cluster: Cluster, job: str, number: int) -> None:
    async def there() -> bool:
        standing = (await cluster.client.get(f"/v1/jobs/{job}/reparse")).json()
        return bool((standing["number"], standing["state"]) == (number, "done"))

    await until(there, 90, lambda: f"reparse {number} is not done")


async def kill_the_parser_while_it_rereads(folder: Path) -> None:
    """SIGKILL as soon as it has said that it takes part a second time."""

    async def joined() -> bool:
        logs = await asyncio.to_thread(lambda: "".join(log.read_text() for log in folder.rglob("parser*.log")))
        return logs.count("reparse_joined") >= 2

    await until(joined, 30, lambda: "the parser takes no part")
    processes = await asyncio.to_thread(psutil.Process().children, recursive=True)
    [parser] = [each for each in processes if each.cmdline()[-2:] == ["service", "parser"]]
    parser.kill()


async def test_new_rules_reach_every_item_also_when_the_parser_is_killed_and_the_site_hears_nothing(
    tmp_path: Path,
) -> None:
    async with Site(Catalogue(pages=PAGES, port=0)) as site, Cluster(tmp_path, schedulers=1, fetchers=1) as cluster:
        job = await cluster.submit(
            seeds=[site.catalogue.url(0)],
            scope={"allowed_domains": site.catalogue.addresses()},
            politeness={"delay": "0s", "concurrency_per_host": 16},
            extract=the_rules(FIELDS),
        )
        await cluster.until_state(job, "complete", 120)
        before, requests = await cluster.audit(job), site.seen.answers.total()
        first = await the_items(cluster, job)

        answer = await cluster.client.post(f"/v1/jobs/{job}/reparse", json={"extract": the_rules(NEW_FIELDS)})
        assert answer.status_code == 202, answer.text
        await reparsed(cluster, job, 1)
        second = await the_items(cluster, job)

        without = {name: rule for name, rule in NEW_FIELDS.items() if name != "title"}
        await cluster.client.post(f"/v1/jobs/{job}/reparse", json={"extract": the_rules(without)})
        await kill_the_parser_while_it_rereads(tmp_path)
        await reparsed(cluster, job, 2)
        third = await the_items(cluster, job)

        assert (await cluster.audit(job), site.seen.answers.total()) == (before, requests)
        assert len(first) == 10 * PAGES
        assert {item: {name: value for name, value in data.items() if name != "stock"}
                for item, data in second.items()} == first  # fmt: skip
        assert all(data["stock"] for data in second.values())
        assert third == {item: {name: value for name, value in data.items() if name != "title"}
                         for item, data in second.items()}  # fmt: skip
