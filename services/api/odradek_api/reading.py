"""Reads what the indexer stored: items and dead letters from MongoDB, crawl events from Elasticsearch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bson.datetime_ms import DatetimeMS
from pymongo.database import Database
from pymongo.errors import PyMongoError

from odradek.errors import InfrastructureAway
from odradek.stores import (
    DEAD_LETTERS,
    ITEMS,
    Document,
    SearchEngine,
    SearchRefused,
    exported_json,
    exported_line,
    items_match,
    job_range,
    search_path,
)
from odradek_api.core.problems import Problem
from odradek_api.core.queries import events_body, facets_body, facets_of

AWAY = "Store is away"
EXPORT_BATCH = 1000
FACET_INTERVAL = "1m"

T = TypeVar("T")


class Reader:
    """Queries of the gateway; a store that does not answer is a Problem 503. Blocking: called in threads."""

    def __init__(self, documents: Database[Document], search: SearchEngine) -> None:
        self._documents, self._search = documents, search

    def items_after(self, job: str, after: str | None, limit: int, kind: str | None = None) -> list[Document]:
        """Items of a job (of one type) in the order of their ids, after `after`."""
        return [exported_line(document) for document in self._page(job, after, limit, kind)]

    def export(self, job: str) -> Iterator[Document]:
        """Every item of a job, in batches that survive a long download."""
        return map(exported_line, self._all(job))

    def export_lines(self, job: str) -> Iterator[bytes]:
        """Every item of a job as JSON lines."""
        return (exported_json(document) + b"\n" for document in self._all(job))

    def forget_job(self, job: str) -> int:
        """Delete a job's items and dead letters; returns the number of items."""
        deleted = _asked(lambda: self._documents[ITEMS].delete_many(job_range(job)).deleted_count)
        _asked(lambda: self._documents[DEAD_LETTERS].delete_many({"job_id": job}))
        return deleted

    def letters(self, match: Document, limit: int) -> list[Document]:
        """Dead letters as stored, in the order of their ids."""
        return _asked(lambda: list(self._documents[DEAD_LETTERS].find(match).sort("_id", 1).limit(limit)))

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
        """Counts of the crawl events that match, by outcome, status, host, reason, action and minute."""
        return facets_of(self._searched(facets_body(query, FACET_INTERVAL)))

    def close(self) -> None:
        """Let the connections go."""
        self._documents.client.close()
        self._search.close()

    def _page(self, job: str, after: str | None, limit: int, kind: str | None = None) -> list[Document]:
        match = items_match(job, kind=kind, after=after)
        return _asked(lambda: list(self._documents[ITEMS].find(match).sort("_id", 1).limit(limit)))

    def _all(self, job: str) -> Iterator[Document]:
        """One cursor without an order: a store may pay for the whole job with every page it has to sort."""
        found = _asked(lambda: self._documents[ITEMS].find(job_range(job)).batch_size(EXPORT_BATCH))
        while (document := _asked(lambda: next(found, None))) is not None:
            yield document

    def _searched(self, body: Document) -> Any:
        try:
            return self._search.call("POST", search_path(), body)
        except SearchRefused as error:
            raise Problem(400, "Query not understood", str(error)[:500]) from error
        except InfrastructureAway as error:
            raise Problem(503, AWAY, str(error)) from error


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except PyMongoError as error:
        raise Problem(503, AWAY, f"MongoDB does not answer: {str(error)[:300]}") from error
