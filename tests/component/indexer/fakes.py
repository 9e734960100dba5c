"""Stores in memory that behave as the real ones: duplicate keys, partial failures, absence, slowness."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from elastic_transport import ApiResponseMeta, BaseNode, ConnectionTimeout, HttpHeaders
from elastic_transport import ConnectionError as NoConnection
from elastic_transport._node._base import NodeApiResponse  # what a node has to return is not exported
from elasticsearch import Elasticsearch
from pymongo import UpdateMany, UpdateOne, WriteConcern
from pymongo.errors import AutoReconnect, BulkWriteError, OperationFailure
from pymongo.results import BulkWriteResult

from odradek.contracts import EcsEvent, EcsService, Item, JobRecord, LogEvent, Message, OdradekFields, encode
from odradek.kafka.records import Record
from odradek.stores import SearchEngine
from odradek.stores.search import ANSWER_S
from odradek_indexer.core.job_rules import JobRules, job_rules

JOB = "job-1"
NOW_MS = 1_790_000_000_000
AS_STORED: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)


def an_item(name: str = "1", **changes: Any) -> Item:
    """A book; its content hash is that of its data unless told otherwise."""
    fields: dict[str, Any] = {
        "id": f"{JOB}:{name}",
        "job": JOB,
        "type": "book",
        "url": "https://books.example/1.html",
        "data": {"title": "A title", "price": "19.90"},
        "fetched_at_ms": NOW_MS,
    }
    fields |= changes
    return Item(**({"content_hash": json.dumps(fields["data"], sort_keys=True)} | fields))


def an_event(name: str = "1", **changes: Any) -> LogEvent:
    """A fetch that went well."""
    fields: dict[str, Any] = {
        "timestamp": "2026-11-30T00:00:00.000Z",
        "event": EcsEvent(id=name, action="fetch"),
        "service": EcsService(name="fetcher"),
        "odradek": OdradekFields(job_id=JOB),
    }
    return LogEvent(**(fields | changes))


def records(*values: Message | bytes, topic: str = "odradek.items") -> list[Record]:
    """Records of one partition, from offset 0."""
    return [
        Record(topic, 0, offset, b"key", value if isinstance(value, bytes) else encode(value))
        for offset, value in enumerate(values)
    ]


class KnownJobs:
    """Jobs as the topic `jobs` tells them."""

    ready = True

    def __init__(self, **specs: Any) -> None:
        self.rules: dict[str, JobRules] = {
            job: job_rules(JobRecord(job=job, spec=spec)) for job, spec in ({JOB: {}} | specs).items()
        }

        self.read = True
        """False: there are jobs that have not come."""

    def get(self, key: str) -> JobRules | None:
        return self.rules.get(key)

    def values(self) -> list[JobRules]:
        return list(self.rules.values())

    def at_end(self) -> bool:
        return self.read


class MemoryCollection:
    """One collection of MongoDB."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.away = False
        self.refusing: dict[str, int] = {}
        """Error codes by `_id`."""
        self.refusal: Callable[[dict[str, Any]], int] = lambda document: self.refusing.get(document["_id"], 0)
        """Error code for a document; 0: none."""
        self.unique: str | None = None
        """A field of `data` with a unique index of the user's."""
        self.bulk_refusal: int | None = None
        """Error code for a whole insert of more than one document."""
        self.writes = 0
        """Documents inserted or changed."""
        self.before_read: Callable[[], None] | None = None
        self.after_read: Callable[[], None] | None = None
        """Called once each, around the next read: what others do meanwhile."""
        self.questions: list[int] = []
        """How many ids each question named."""
        self.indexes: list[Any] = []
        self.write_concern = WriteConcern(j=True)
        self.journaled: list[bool] = []
        """Of each update: whether its answer waited for the journal."""

    def with_options(self, write_concern: WriteConcern) -> "OtherConcern":
        """The same documents."""
        return OtherConcern(self, write_concern)

    def create_indexes(self, indexes: list[Any]) -> None:
        self._answer()
        self.indexes += indexes

    def insert_many(self, documents: Sequence[dict[str, Any]], *, ordered: bool) -> None:
        assert not ordered
        self._answer()
        encoded = [bson.encode(document) for document in documents]
        if self.bulk_refusal is not None and len(documents) > 1:
            raise OperationFailure("the whole bulk is refused", self.bulk_refusal)
        errors = []
        for index, (document, raw) in enumerate(zip(documents, encoded, strict=True)):
            code = self.refusal(document) or (11000 if document["_id"] in self.documents else 0)
            taken = [each["data"].get(self.unique) for each in self.documents.values()] if self.unique else []
            if code:
                errors.append({"index": index, "code": code, "errmsg": f"code {code}", "keyPattern": {"_id": 1}})
            elif self.unique and document["data"].get(self.unique) in taken:
                pattern = {f"data.{self.unique}": 1}
                errors.append({"index": index, "code": 11000, "errmsg": "dup key", "keyPattern": pattern})
            else:
                self.documents[document["_id"]] = bson.decode(raw, AS_STORED)
                self.writes += 1
        if errors:
            raise BulkWriteError({"writeErrors": errors, "writeConcernErrors": []})

    def find(self, query: dict[str, Any], fields: dict[str, int]) -> list[dict[str, Any]]:
        self._answer()
        happens, self.before_read = self.before_read, None
        if happens is not None:
            happens()
        if "_id" in query:
            self.questions.append(len(query["_id"]["$in"]))
        wanted = self._matching(query)
        found = [{name: document[name] for name in ("_id", *fields) if name in document} for document in wanted]
        happens, self.after_read = self.after_read, None
        if happens is not None:
            happens()
        return found

    def bulk_write(
        self, updates: Sequence[UpdateOne | UpdateMany], *, ordered: bool, write_concern: WriteConcern | None = None
    ) -> BulkWriteResult:
        assert not ordered
        self._answer()
        self.journaled += [bool((write_concern or self.write_concern).document["j"])] * len(updates)
        matched = 0
        for update in updates:
            found = self._matching(update._filter)
            for document in found:
                document.update(bson.decode(bson.encode(update._doc["$set"]), AS_STORED))
                for name in update._doc.get("$unset", {}):
                    document.pop(name, None)
            matched += len(found)
            self.writes += len(found)
        return BulkWriteResult({"nMatched": matched, "nModified": matched}, acknowledged=True)

    def _matching(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        """By `_id` where it is asked for."""
        named = query.get("_id")
        names = [named] if isinstance(named, str) else named["$in"] if named is not None else self.documents
        known = [self.documents[name] for name in names if name in self.documents]
        return [document for document in known if matches(document, {**query, "_id": document["_id"]})]

    def _answer(self) -> None:
        if self.away:
            raise AutoReconnect("connection closed")


def matches(document: Any, query: dict[str, Any]) -> bool:
    """As MongoDB judges it."""
    for name, wanted in query.items():
        if name == "$or":
            if not any(matches(document, each) for each in wanted):
                return False
            continue
        value = document
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        operators = (
            wanted if isinstance(wanted, dict) and any(key.startswith("$") for key in wanted) else {"$eq": wanted}
        )
        if not all(_OPERATORS[operator](value, operand) for operator, operand in operators.items()):
            return False
    return True


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, operand: bool(value == operand),
    "$in": lambda value, operand: value in operand,
    "$lt": lambda value, operand: value is not None and int(value) < int(operand),
    "$exists": lambda value, operand: (value is not None) == operand,
}


class OtherConcern(NamedTuple):
    """A collection whose writes are acknowledged otherwise."""

    collection: MemoryCollection
    write_concern: WriteConcern

    def bulk_write(self, updates: Sequence[UpdateOne], *, ordered: bool) -> BulkWriteResult:
        return self.collection.bulk_write(updates, ordered=ordered, write_concern=self.write_concern)


class SlowCollection(MemoryCollection):
    """Answers only once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def _answer(self) -> None:
        self.asked.set()
        assert self.go.wait(60), "never let go"
        super()._answer()


Answer = tuple[int, Any]
"""Status and body."""


class Request(NamedTuple):
    """What a search engine is asked."""

    method: str
    path: str
    content: bytes


class MemorySearch:
    """One search engine: a data stream, its bulk interface, and whatever trouble a test wants."""

    def __init__(self, *, lifecycle: bool = True) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.templates: dict[str, Any] = {}
        self.policies: dict[str, Any] = {}
        self.away = False
        self.refusing: dict[str, int] = {}
        """Statuses by `_id`."""
        self.largest_bytes = 1 << 30
        """A larger request is refused as a whole."""
        self.status = 0
        """Status of every answer; 0: the right one."""
        self.counting = 200
        """Status when events are counted."""
        self.without_primary = False
        """Its shard cannot be opened: it waits as long as it was told to, a minute unless told, and refuses."""
        self.process = 1
        """Another one each time it is started."""
        self._lifecycle = lifecycle
        memory = self

        class Node(BaseNode):
            """How the client reaches it."""

            def perform_request(self, method: str, target: str, body: Any = None, **_: Any) -> NodeApiResponse:
                if memory.away:
                    raise NoConnection("connection refused")
                path, _, query = target.partition("?")
                waited = float(parse_qs(query).get("timeout", ["60s"])[0].removesuffix("s"))
                if memory.without_primary and path.endswith("_bulk") and waited >= ANSWER_S:
                    raise ConnectionTimeout("Connection timed out during request")
                status, answer = memory.answer(Request(method, path, body or b""))
                kind = "application/json" if not isinstance(answer, str) else "text/plain"
                said = HttpHeaders({"x-elastic-product": "Elasticsearch", "content-type": kind})
                content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                return NodeApiResponse(ApiResponseMeta(status, "1.1", said, 0.0, self.config), content)

        self.engine = SearchEngine(lambda: Elasticsearch("http://search.example:9200", node_class=Node))

    def kill(self, *, forgets: Sequence[str]) -> None:
        """It is killed and started again, without these events."""
        self.process += 1
        for name in forgets:
            del self.events[name]

    def answer(self, request: Request) -> Answer:
        if self.status:
            return self.status, {"error": {"type": "trouble", "reason": f"status {self.status}"}}
        if request.path.startswith("/_ilm/"):
            return self._policy(request)
        if request.path == "/_nodes/_local":
            return 200, {"nodes": {"the-node": {"process": {"id": self.process}}}}
        if request.path.startswith("/_index_template/"):
            self.templates[request.path.rsplit("/", 1)[1]] = json.loads(request.content)
            return 200, {"acknowledged": True}
        if not self.templates:
            return 404, {"error": {"type": "index_not_found_exception", "reason": "no template"}}
        verb = request.path.rsplit("/", 1)[1]
        return {"_bulk": self._bulk, "_delete_by_query": self._delete, "_search": self._search}.get(
            verb, lambda _: (self.counting, {"count": len(self.events)})
        )(request)

    def _policy(self, request: Request) -> Answer:
        if not self._lifecycle:
            return 400, {"error": "no handler found"}
        name = request.path.rsplit("/", 1)[1]
        if request.method == "PUT":
            self.policies[name] = json.loads(request.content)
        return (200 if name in self.policies else 404), {}

    def _bulk(self, request: Request) -> Answer:
        if len(request.content) > self.largest_bytes:
            return 413, "too large"
        lines = request.content.splitlines()
        items = []
        for head, body in zip(lines[::2], lines[1::2], strict=True):
            name = json.loads(head)["create"]["_id"]
            status = 409 if name in self.events else self.refusing.get(name, 201)
            status = 503 if self.without_primary else status
            if status == 201:
                self.events[name] = json.loads(body)
            reason = "primary shard is not active" if self.without_primary else f"status {status}"
            error = {} if status == 201 else {"error": {"type": "refused", "reason": reason}}
            items.append({"create": {"status": status, **error}})
        return 200, {"errors": any("error" in item["create"] for item in items), "items": items}

    def _sorted(self) -> list[dict[str, Any]]:
        return sorted(self.events.values(), key=lambda event: str(event["@timestamp"]))

    def _search(self, request: Request) -> Answer:
        query = json.loads(request.content)
        hits = self._sorted()[query["from"] :][: query["size"]]
        return 200, {"hits": {"hits": [{"_source": hit} for hit in hits]}}

    def _delete(self, request: Request) -> Answer:
        until = json.loads(request.content)["query"]["range"]["@timestamp"]["lte"]
        gone = [name for name, event in self.events.items() if event["@timestamp"] <= until]
        for name in gone:
            del self.events[name]
        return 200, {"deleted": len(gone)}
