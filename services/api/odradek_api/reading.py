"""Reads what the indexer stored: items from MongoDB, crawl events from Elasticsearch."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pymongo
from elastic_transport.client_utils import DEFAULT
from elasticsearch import ApiError, Elasticsearch, TransportError
from pymongo.errors import PyMongoError

from odradek import stores
from odradek.settings import Settings
from odradek_api.core.problems import Problem

AWAY = "Store is away"
EXPORT_BATCH = 1000


class Reader:
    """Queries of the gateway; a store that does not answer is a 503."""

    def __init__(self, settings: Settings) -> None:
        self._mongodb: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            settings.mongodb_url.get_secret_value(), serverSelectionTimeoutMS=3000, tz_aware=True
        )
        key = settings.elasticsearch_api_key
        authority = settings.elasticsearch_ca
        self._search = Elasticsearch(
            settings.elasticsearch_url,
            api_key=key.get_secret_value() if key is not None else None,
            ca_certs=str(authority) if authority is not None else DEFAULT,
            request_timeout=10,
        )

    @property
    def _items(self) -> Any:
        return self._mongodb.get_default_database("odradek")[stores.ITEMS]

    def items_after(self, job: str, after: str | None, limit: int) -> list[dict[str, Any]]:
        """Items of a job in the order of their ids, after `after`.

        Raises:
            Problem: 503 when MongoDB is away.
        """
        query = {"_id": {"$gt": after or f"{job}:", "$lt": f"{job};"}}
        try:
            found = self._items.find(query).sort("_id", 1).limit(limit)
            return [stores.exported_line(document) for document in found]
        except PyMongoError as error:
            raise Problem(503, AWAY, f"MongoDB does not answer: {error}") from error

    def export(self, job: str) -> Iterator[dict[str, Any]]:
        """Every item of a job, in batches that survive a long download."""
        after: str | None = None
        while batch := self.items_after(job, after, EXPORT_BATCH):
            yield from batch
            after = batch[-1]["_id"]

    def count_items(self, job: str) -> int:
        """Items stored of a job."""
        try:
            return int(self._items.count_documents({"_id": {"$gt": f"{job}:", "$lt": f"{job};"}}))
        except PyMongoError as error:
            raise Problem(503, AWAY, f"MongoDB does not answer: {error}") from error

    def events(self, query: dict[str, Any], limit: int, newest_first: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Crawl events that match an Elasticsearch query, with their total."""
        order = "desc" if newest_first else "asc"
        try:
            answer = self._search.search(
                index=stores.LOGS_DATA_STREAM,
                query=query,
                size=limit,
                sort=[{"@timestamp": {"order": order}}],
                track_total_hits=True,
                ignore_unavailable=True,
            )
        except ApiError as error:
            raise Problem(400, "Query not understood", str(error)[:500]) from error
        except TransportError as error:
            raise Problem(503, AWAY, f"Elasticsearch does not answer: {error}") from error
        hits = answer["hits"]
        return {"total": hits["total"]["value"], "data": [hit["_source"] for hit in hits["hits"]]}

    async def __call__(self, ask: Any, *arguments: Any) -> Any:
        """Run one of the blocking queries in a thread."""
        return await asyncio.to_thread(ask, *arguments)

    def close(self) -> None:
        """Let the connections go."""
        self._mongodb.close()
        self._search.close()
