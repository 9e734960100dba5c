"""Reads what the indexer stored: items and dead letters from MongoDB, crawl events from Elasticsearch."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import pymongo
from bson.datetime_ms import DatetimeMS
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import PyMongoError

from odradek.contracts import JobRecord
from odradek.errors import InfrastructureAway
from odradek.stores import (
    ALL_ITEMS,
    DEAD_LETTERS,
    Document,
    ItemFilter,
    SearchEngine,
    SearchRefused,
    collection_of,
    exported_json,
    exported_line,
    job_range,
    search_path,
    way_through,
)
from odradek_api.core.activity import interval_s
from odradek_api.core.freshness import OLDEST, freshness_of, freshness_steps
from odradek_api.core.problems import Problem
from odradek_api.core.queries import (
    MINUTE_S,
    events_body,
    facets_body,
    facets_of,
    joined,
    moments_of,
    timeline_body,
)
from odradek_api.ports import Newest

AWAY = "Store is away"
EXPORT_BATCH = 1000
PATIENCE_S = 900
"""For what concerns all items: the embedded store goes through its whole collection for it, or makes an index of it."""

T = TypeVar("T")


class Reader:
    """Queries of the gateway; a store that does not answer is a Problem 503. Blocking: called in threads."""

    def __init__(self, documents: Database[Document], search: SearchEngine, jobs: Newest[JobRecord]) -> None:
        self._documents, self._search, self._jobs = documents, search, jobs

    def items_after(self, job: str, after: str | None, limit: int, wanted: ItemFilter = ALL_ITEMS) -> list[Document]:
        """Items of a job in the order of their ids, after `after`."""
        return [exported_line(each) for each in islice(self._through(job, wanted, after, limit), limit)]

    def export_lines(self, job: str, wanted: ItemFilter = ALL_ITEMS) -> Iterator[bytes]:
        """Items of a job as JSON lines in the order of their ids, read in batches as they are taken."""
        for document in self._through(job, wanted):
            yield exported_json(document) + b"\n"

    def count_items(self, job: str, wanted: ItemFilter = ALL_ITEMS) -> int:
        """How many items of a job are stored."""
        return self._summed(job, wanted, lambda items, match: items.count_documents(match))

    def freshness(self, job: str, within_s: float, now_ms: int) -> Document:
        """How many items were seen within that time, the ten oldest, and the same for each host."""
        since, items = DatetimeMS(now_ms - round(within_s * 1000)), self._items(job)
        match = job_range(job) | {"gone": {"$exists": False}}
        steps = freshness_steps(match, since)
        groups = _asked_patiently(lambda: list(items.aggregate(steps)))
        found = items.find(match, {"url": 1, "last_seen": 1}).sort("last_seen", 1).limit(OLDEST)
        return freshness_of(groups, _asked_patiently(lambda: list(found)), within_s, now_ms)

    def forget_job(self, job: str) -> int:
        """Delete a job's items and dead letters; returns the number of items."""
        deleted = self._summed(job, ALL_ITEMS, lambda items, match: items.delete_many(match).deleted_count)
        _asked(lambda: self._documents[DEAD_LETTERS].delete_many({"job_id": job}))
        return deleted

    def letters(self, match: Document, limit: int) -> list[Document]:
        """Dead letters as stored, in the order of their ids."""
        return _asked(lambda: list(self._documents[DEAD_LETTERS].find(match).sort("_id", 1).limit(limit)))

    def letter_reasons(self, match: Document) -> list[Document]:
        """How many dead letters match, by reason: [{reason, count, replayed}], most first."""
        sent_again = {"$sum": {"$cond": [{"$ifNull": ["$replayed_at", False]}, 1, 0]}}
        group = {"_id": "$reason", "count": {"$sum": 1}, "replayed": sent_again}
        steps: list[Document] = [{"$match": match}, {"$group": group}]
        found = _asked(lambda: list(self._documents[DEAD_LETTERS].aggregate(steps)))
        told = [{"reason": each["_id"], "count": each["count"], "replayed": each["replayed"]} for each in found]
        return sorted(told, key=lambda each: (-each["count"], str(each["reason"])))

    def mark_replayed(self, ids: Sequence[str], at_ms: int) -> None:
        """Note that these dead letters were sent again."""
        change = {"$set": {"replayed_at": DatetimeMS(at_ms)}}
        _asked(lambda: self._documents[DEAD_LETTERS].update_many({"_id": {"$in": list(ids)}}, change))

    def events(self, query: Document, limit: int, after: list[Any] | None = None) -> Document:
        """Crawl events that match an Elasticsearch query, newest first: {total, data, after}."""
        hits = self._searched(events_body(query, limit, after))["hits"]
        found = hits["hits"]
        last = found[-1].get("sort") if found and len(found) == limit else None
        return {"total": hits["total"]["value"], "data": [hit["_source"] for hit in found], "after": last}

    def search(self, body: Document) -> Document:
        """Any search of crawl events, in Elasticsearch's own words."""
        found: Document = self._searched(body)
        return found

    def facets(self, query: Document) -> Document:
        """Counts of the crawl events that match, by outcome, status, host, reason, action and time."""
        answer = self._searched(facets_body(query))
        moments = moments_of(answer)
        every_s = interval_s(max(moments) - min(moments)) if moments else MINUTE_S
        if every_s < MINUTE_S:
            # A crawl of less than an hour: minutes are too long.
            moments = moments_of(self._searched(timeline_body(query, every_s)))
        return facets_of(answer) | {"every_s": every_s, "time": joined(moments, every_s)}

    def close(self) -> None:
        """Let the connections go."""
        self._documents.client.close()
        self._search.close()

    def _through(self, job: str, wanted: ItemFilter, after: str | None = None, limit: int = 0) -> Iterator[Document]:
        """Items in the order of their ids; `limit`: no more of them are needed, 0: all."""
        items = self._items(job)
        for match in (way := _asked_patiently(lambda: way_through(items, job, wanted, after=after))):
            found = items.find(match).sort("_id", 1).limit(limit).batch_size(EXPORT_BATCH)
            ask = partial(next, found, None)
            document = _asked_patiently(ask)
            while document is not None:
                way.held += 1
                yield document
                document = _asked(ask)

    def _summed(self, job: str, wanted: ItemFilter, ask: Callable[[Collection[Document], Document], int]) -> int:
        items, total = self._items(job), 0
        for match in (way := _asked_patiently(lambda: way_through(items, job, wanted))):
            way.held = _asked_patiently(partial(ask, items, match))
            total += way.held
        return total

    def _items(self, job: str) -> Collection[Document]:
        record = self._jobs.get(job)
        return self._documents[collection_of({} if record is None else record.spec)]

    def _searched(self, body: Document) -> Any:
        try:
            return self._search.call("POST", search_path(), body)
        except SearchRefused as error:
            raise Problem(400, "Query not understood", str(error)[:500]) from error
        except InfrastructureAway as error:
            raise Problem(503, AWAY, str(error)) from error


def _asked_patiently(ask: Callable[[], T]) -> T:
    with pymongo.timeout(PATIENCE_S):
        return _asked(ask)


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except InfrastructureAway as error:
        raise Problem(503, AWAY, str(error)) from error
    except PyMongoError as error:
        raise Problem(503, AWAY, f"MongoDB does not answer: {str(error)[:300]}") from error
