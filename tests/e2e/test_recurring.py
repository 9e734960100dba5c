"""A recurring job on the whole stack, over a shop with a known calendar of changes.

`RECURRING_PAGES` says how many pages the shop has, such as 60 (at most 1000); without it nothing is run. With `-s` the
figures of each run are printed.
"""

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.cluster import Cluster, until
from tests.e2e.changing_site import Shop

PAGES = int(os.environ.get("RECURRING_PAGES", "0"))

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not PAGES, reason="set RECURRING_PAGES=60: it takes minutes"),
]
RULE = {
    "type": "product",
    "each": "article",
    "key": ["sku"],
    "fields": {"sku": {"css": "&", "attr": "data-sku"}, "title": {"css": "h3"}, "price": {"css": ".price"}},
}


def a_job(shop: Shop, name: str, **schedule: Any) -> dict[str, Any]:
    """It waits for a person to ask for its next run, so that the test knows what happens before which."""
    return {
        "name": name,
        "seeds": [shop.url(0)],
        "politeness": {"delay": "0s", "concurrency_per_host": 8},
        "extract": [RULE],
        "webhooks": [f"http://127.0.0.1:{shop.port}/hook"],
        "schedule": {name: value for name, value in {"every": "1h", "gone_grace": "0s", **schedule}.items() if value},
    }


class Recurring:
    """A job of the cluster, run by run."""

    def __init__(self, cluster: Cluster, job: str) -> None:
        self.cluster, self.job = cluster, job
        self.cursor: str | None = None

    async def ended(self, run: int) -> dict[str, Any]:
        """Figures of a run once it has ended."""
        found: list[dict[str, Any]] = []

        async def there() -> bool:
            runs = (await self.cluster.client.get(f"/v1/jobs/{self.job}/runs")).json()["data"]
            found[:] = [each for each in runs if each["run"] == run and each["ended_at_ms"] is not None]
            return bool(found)

        await until(there, 120 + 0.3 * PAGES, lambda: f"run {run} has not ended")
        audit = await self.cluster.settled(self.job)
        assert audit["balanced"], audit
        return found[0]

    async def next(self, run: int) -> dict[str, Any]:
        await self.cluster.post(f"/v1/jobs/{self.job}/runs")
        return await self.ended(run)

    async def parsed(self, run: int) -> int:
        """Pages that a parser read in a run, as the log has them."""
        asked: dict[str, str | int] = {"job": self.job, "action": "parse", "run": run, "limit": 1}
        answer = await self.cluster.client.get("/v1/logs", params=asked)
        assert answer.is_success, answer.text
        return int(answer.json()["total"])

    async def changes(self) -> list[tuple[str, int]]:
        """What the change feed told since the last time: change, page."""
        found: list[tuple[str, int]] = []
        while True:
            asked = {} if self.cursor is None else {"cursor": self.cursor}
            answer = (await self.cluster.client.get(f"/v1/jobs/{self.job}/changes", params=asked)).json()
            found += [(each["change"], int(each["url"].rsplit("/", 1)[1].split(".")[0])) for each in answer["data"]]
            self.cursor = answer["next_cursor"]
            if answer["at_end"]:
                return sorted(found)


def told(run: dict[str, Any], shop: Shop, parsed: int, pages: int = PAGES) -> Counter[str]:
    """What was asked for since the last time; its figures are printed beside those of a full recrawl."""
    statuses, sent = dict(shop.statuses), shop.bytes
    asked = shop.note()
    names = ("run", "accepted", "fetched", "not_modified", "skipped", "failed", "items", "duration_ms")
    print({name: run[name] for name in names})  # noqa: T201  (figures of the test)
    print(  # noqa: T201
        f"  asked for {asked.total()} pages of {pages} ({statuses}), parsed {parsed} of {pages}, "
        f"sent {sent} bytes of {shop.whole}"
    )
    return asked


async def test_every_change_is_found_in_the_next_run_and_what_stays_is_not_read_again(tmp_path: Path) -> None:
    async with Shop(PAGES) as shop, Cluster(tmp_path, schedulers=1, fetchers=1) as cluster:
        job = await cluster.submit(**a_job(shop, "shop"))
        recurring = Recurring(cluster, job)

        told(await recurring.ended(1), shop, await recurring.parsed(1))
        assert sorted(await recurring.changes()) == sorted(("new", page) for page in range(PAGES))

        calendar: list[tuple[set[int], set[int], set[int]]] = [
            (set(), set(), set()), ({3, 8, 21}, set(), set()), ({4}, {30, 31}, set()), ({3}, set(), set()),
            (set(), set(), {30}), ({9}, set(), set()),
        ]  # fmt: skip
        expected = [
            set(), {("changed", 3), ("changed", 8), ("changed", 21)}, {("changed", 4)},
            {("changed", 3), ("gone", 30), ("gone", 31)}, {("new", 30)}, {("changed", 9)},
        ]  # fmt: skip
        for run, (changed, taken, put_back) in enumerate(calendar, 2):
            shop.change(*changed)
            shop.away = (shop.away | taken) - put_back
            figures, parsed = await recurring.next(run), await recurring.parsed(run)
            sent = shop.bytes
            asked = told(figures, shop, parsed)
            changes = await recurring.changes()
            print(f"  changes: {changes}")  # noqa: T201
            assert changes == sorted(expected[run - 2])
            assert asked == Counter({f"/p/{page}.html": 1 for page in range(PAGES)})
            assert parsed == figures["fetched"] == len(changed)
            assert figures["pages"] == PAGES - len(shop.away)
            assert sent < 0.6 * shop.whole

        stored = (await cluster.client.get(f"/v1/jobs/{job}/items", params={"limit": 1000})).json()["data"]
        assert {each["run"] for each in stored if each["url"] != shop.url(31)} == {7}
        assert shop.heard == [(state, run) for run in range(1, 8) for state in ("running", "complete")]
        fresh = (await cluster.client.get(f"/v1/jobs/{job}/freshness", params={"within": "1h"})).json()
        assert (fresh["items"], fresh["share"], len(fresh["hosts"])) == (PAGES - 1, 1.0, 1)


async def test_a_sitemap_saves_the_requests_for_what_has_not_changed(tmp_path: Path) -> None:
    async with Shop(PAGES) as shop, Cluster(tmp_path, schedulers=1, fetchers=1) as cluster:
        shop.mapped = True
        recurring = Recurring(cluster, await cluster.submit(**a_job(shop, "mapped", adaptive="30d")))
        await recurring.ended(1)
        for run in (2, 3):
            await recurring.next(run)
        shop.note()
        await recurring.changes()

        shop.change(5, 12)
        figures = await recurring.next(4)

        asked = told(figures, shop, await recurring.parsed(4))
        assert asked == Counter({"/p/0.html": 1, "/p/5.html": 1, "/p/12.html": 1})  # a seed never rests
        assert await recurring.changes() == [("changed", 5), ("changed", 12)]
        found = {name: figures[name] for name in ("accepted", "skipped", "fetched", "not_modified")}
        assert found == {"accepted": PAGES, "skipped": PAGES - 3, "fetched": 2, "not_modified": 1}


async def test_a_run_that_is_killed_at_its_end_fetches_only_what_was_left(tmp_path: Path) -> None:
    """The scheduler dies when 99 of 100 pages have been asked for; nothing is asked for twice but what was out."""
    pages = max(PAGES, 100)
    async with Shop(pages, latency_s=0.05) as shop, Cluster(tmp_path, schedulers=1, fetchers=1) as cluster:
        spec = a_job(shop, "saved") | {"politeness": {"delay": "50ms", "concurrency_per_host": 1}}
        recurring = Recurring(cluster, await cluster.submit(**spec))
        await recurring.ended(1)
        shop.note()
        await cluster.post(f"/v1/jobs/{recurring.job}/runs")

        async def nearly() -> bool:
            return sum(count for path, count in shop.asked.items() if path.startswith("/p/")) >= 0.99 * pages

        await until(nearly, 120 + 0.3 * pages, lambda: f"only {shop.asked.total()} of {pages} pages were asked for")
        cluster.kill_one_scheduler()
        before = shop.asked.copy()
        figures = await recurring.ended(2)

        after = shop.note()
        left = {path: count - before[path] for path, count in after.items() if count > before[path]}
        print(f"asked before the kill {before.total()}, after it {sum(left.values())}: {left}")  # noqa: T201
        assert sum(left.values()) <= 0.01 * pages + 1
        assert len(after) == pages
        assert figures["pages"] == pages


def minute_after(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0) + timedelta(minutes=1)


async def test_a_deadline_is_met_and_a_miss_is_told_before_it(tmp_path: Path) -> None:
    """A run takes 30 s, politely; then its host asks for five times as long, and the next is begun too late."""
    polite = {"delay": "1s", "concurrency_per_host": 1}
    async with Shop(30) as shop, Cluster(tmp_path, schedulers=1, fetchers=1) as cluster:
        deadline = minute_after(datetime.now(UTC) + timedelta(seconds=110))
        daily = {"every": None, "fresh_by": f"{deadline:%H:%M}"}
        recurring = Recurring(cluster, await cluster.submit(**a_job(shop, "daily", **daily) | {"politeness": polite}))
        first = await recurring.ended(1)
        met = await recurring.ended(2)
        print(f"run 1 took {first['duration_ms']} ms; run 2 began {instant(met['began_at_ms'])}, "  # noqa: T201
              f"ended {instant(met['ended_at_ms'])}, deadline {instant(met['deadline_ms'])}")  # fmt: skip
        assert (met["deadline_ms"], met["met"]) == (round(deadline.timestamp() * 1000), True)

        deadline = minute_after(datetime.now(UTC) + timedelta(seconds=40))
        daily["fresh_by"] = f"{deadline:%H:%M}"
        await cluster.patch(recurring.job, schedule=daily, politeness=polite | {"delay": "5s"})

        async def late() -> bool:
            return bool((await cluster.job(recurring.job))["missed"])

        await until(late, 90, lambda: "nothing was said of the deadline")
        known = datetime.now(UTC)
        missed = (await cluster.job(recurring.job))["missed"]
        print(f"known {known:%H:%M:%S} of the deadline {deadline:%H:%M:%S}: {missed}")  # noqa: T201
        assert known < deadline
        assert "one every 5" in missed
        assert "politeness.delay" in missed
        await cluster.post(f"/v1/jobs/{recurring.job}/cancel")


def instant(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%H:%M:%S}"
