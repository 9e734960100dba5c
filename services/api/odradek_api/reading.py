"""Reads what the indexer stored: items from MongoDB, crawl events from Elasticsearch."""

import asyncio
from collections.abc import Iterator
from typing import Any

from pymongo.errors import PyMongoError

from odradek.errors import InfrastructureAway
from odradek.settings import Settings
from odradek.stores import (
    ITEMS,
    SearchRefused,
    connect_documents,
    connect_search,
    exported_json,
    exported_line,
    items_match,
    job_range,
    search_path,
)
from odradek_api.core.problems import Problem

AWAY = "Store is away"
EXPORT_BATCH = 1000


class Reader:
    """Queries of the gateway; a store that does not answer is a 503."""

    def __init__(self, settings: Settings) -> None:
        self._documents = connect_documents(settings)
        self._search = connect_search(settings)

    def items_after(self, job: str, after: str | None, limit: int) -> list[dict[str, Any]]:
        """Items of a job in the order of their ids, after `after`.

        Raises:
            Problem: 503 when MongoDB is away.
        """
        return [exported_line(document) for document in self._page(job, after, limit)]

    def _page(self, job: str, after: str | None, limit: int) -> list[dict[str, Any]]:
        try:
            return list(self._documents[ITEMS].find(items_match(job, after=after)).sort("_id", 1).limit(limit))
        except PyMongoError as error:
            raise Problem(503, AWAY, f"MongoDB does not answer: {error}") from error

    def export(self, job: str) -> Iterator[dict[str, Any]]:
        """Every item of a job, in batches that survive a long download."""
        for document in self._all(job):
            yield exported_line(document)

    def export_lines(self, job: str) -> Iterator[bytes]:
        """Every item of a job as JSON lines."""
        for document in self._all(job):
            yield exported_json(document) + b"\n"

    def _all(self, job: str) -> Iterator[dict[str, Any]]:
        after: str | None = None
        while batch := self._page(job, after, EXPORT_BATCH):
            yield from batch
            after = batch[-1]["_id"]

    def count_items(self, job: str) -> int:
        """Items stored of a job."""
        try:
            return int(self._documents[ITEMS].count_documents(job_range(job)))
        except PyMongoError as error:
            raise Problem(503, AWAY, f"MongoDB does not answer: {error}") from error

    def events(self, query: dict[str, Any], limit: int) -> dict[str, Any]:
        """Crawl events that match an Elasticsearch query, newest first, with their total."""
        body = {"query": query, "size": limit, "sort": [{"@timestamp": {"order": "desc"}}], "track_total_hits": True}
        try:
            hits = self._search.call("POST", search_path(), body)["hits"]
        except SearchRefused as error:
            raise Problem(400, "Query not understood", str(error)[:500]) from error
        except InfrastructureAway as error:
            raise Problem(503, AWAY, str(error)) from error
        return {"total": hits["total"]["value"], "data": [hit["_source"] for hit in hits["hits"]]}

    async def __call__(self, ask: Any, *arguments: Any) -> Any:
        """Run one of the blocking queries in a thread."""
        return await asyncio.to_thread(ask, *arguments)

    def close(self) -> None:
        """Let the connections go."""
        self._documents.client.close()
        self._search.close()
