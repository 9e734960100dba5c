"""What a round came to: asked of the ledger, both stores, and the site."""

import asyncio
import contextlib
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from tests.drill.reckoning import OUTCOMES, Found
from tests.drill.world import World, until

from odradek.stores import (
    DEAD_LETTERS,
    ITEMS,
    connect_documents,
    connect_search,
    delete_path,
    job_range,
    refresh_path,
    search_path,
)
from odradek.topics import FRONTIER

END_S = 240.0
ENDED = ("complete", "failed")
PAGE = 1000


async def ended(world: World, job: str, within_s: float = END_S) -> str:
    """Wait until a job has come to its end; its state, whatever it is when the time is over."""

    async def there() -> str | None:
        answer = await world.client.get(f"/v1/jobs/{job}")
        state = str(answer.json().get("state"))
        return state if state in ENDED else None

    try:
        return await until(there, within_s, "")
    except TimeoutError:
        answer = await world.client.get(f"/v1/jobs/{job}")
        told = answer.json()
        return f"{told.get('state')}, {told.get('limiting_reason')}, {told.get('in_flight')} in flight"


async def worked_off(world: World) -> None:
    """Wait until nothing lies unread in a topic but the frontier, which never rests."""

    async def done() -> bool | None:
        left = await asyncio.to_thread(world.unfinished)
        return True if all(topic == FRONTIER for topic, _ in left) else None

    with contextlib.suppress(TimeoutError):  # then a number below will tell
        await until(done, END_S, "")


async def audit(world: World, job: str) -> dict[str, Any]:
    """Its ledger, once both counts agree or have had time to."""
    newest: dict[str, Any] = {}

    async def balanced() -> bool | None:
        answer = await world.client.get(f"/v1/jobs/{job}/audit")
        newest.update(answer.json() if answer.is_success else {})
        return True if newest.get("balanced") is True else None

    with contextlib.suppress(TimeoutError):
        await until(balanced, 30, "")
    return dict.fromkeys(OUTCOMES, 0) | {"late": 0, "balanced": False, "reasons": {}} | newest


async def gather(world: World, hostile: str, letters_before: Counter[str]) -> Found:
    """Everything of a round whose jobs are told to end."""
    states = {world.job: await ended(world, world.job), hostile: await ended(world, hostile)}
    await worked_off(world)
    stored = await world.asked(lambda: _stored(world))
    letters = await world.asked(lambda: dead_letters(world))
    return Found(
        audit=await audit(world, world.job),
        hostile_audit=await audit(world, hostile),
        bad_audits={job: await audit(world, job) for job in world.foreseen.bad_jobs},
        states={job: state for job, state in states.items() if state != "complete"},
        events=await world.asked(lambda: _events(world)),
        dead_letters={name: count for name, count in (letters - letters_before).items() if count},
        gaps=await world.asked(lambda: _gaps(world)),
        requests=world.site.seen.pages().total(),
        **stored,
    )


def _stored(world: World) -> dict[str, int]:
    database = connect_documents(world.settings)
    wanted = {"_id": 1, "url": 1, "data.sku": 1}
    found = [(each["url"], each["data"]["sku"]) for each in database[ITEMS].find(job_range(world.job), wanted)]
    database.client.close()
    pages = {world.site.catalogue.url(page): f"{page:07d}" for page in range(world.site.linked)}
    strays = sum(pages.get(url) != sku.rpartition("-")[0] for url, sku in found)
    return {"items": len(found), "records": len(set(found)), "strays": strays}


def dead_letters(world: World) -> Counter[str]:
    """All there are, by the topic of the message; a page that came twice, because its lease was over, is one."""
    database = connect_documents(world.settings)
    prefix = world.settings.topic_prefix
    found = {
        (each["source"]["topic"] or "", each["url"] or each["_id"])
        for each in database[DEAD_LETTERS].find({}, {"source": 1, "url": 1})
    }
    database.client.close()
    return Counter(topic.removeprefix(prefix) for topic, _ in found)


def _events(world: World) -> Counter[tuple[str, str, int]]:
    found = _search(world, {"term": {"odradek.job_id": world.job}})
    told = [
        (each.get("url", {}).get("full") or "", each["event"]["action"], each["odradek"].get("try", 0))
        for each in found
    ]
    return Counter(each for each in told if urlsplit(each[0]).path.startswith("/p/"))


def _gaps(world: World) -> dict[str, int]:
    """Gaps told since the round began."""
    prefix, begun = world.settings.topic_prefix, world.begun_at
    found = _search(world, {"term": {"event.action": "gap"}})
    return dict(Counter(each["labels"]["topic"].removeprefix(prefix) for each in found if each["@timestamp"] >= begun))


def forget_events(world: World) -> bool:
    """Delete all crawl events once they have been counted: the embedded engine is the slower the more it holds."""
    engine = connect_search(world.settings)
    try:
        engine.call("POST", delete_path(), {"query": {"match_all": {}}})
    finally:
        engine.close()
    return True


def _search(world: World, query: dict[str, Any]) -> list[dict[str, Any]]:
    engine = connect_search(world.settings)
    found: list[dict[str, Any]] = []
    after: list[Any] = []
    try:
        engine.call("POST", refresh_path())
        while True:
            body = {"size": PAGE, "query": query, "sort": [{"event.id": "asc"}]} | (
                {"search_after": after} if after else {}
            )
            hits = engine.call("POST", search_path(), body)["hits"]["hits"]
            found += [hit["_source"] for hit in hits]
            if len(hits) < PAGE:
                return found
            after = hits[-1]["sort"]
    finally:
        engine.close()
