"""Items in MongoDB: collection `items` or the one that the job names, one document each, `_id` = item id.

    {_id, type, url, job_id, run, first_seen, last_seen, meta, data, content_hash, change, changed?, was?, reparse?,
     page?, missing?, gone?}

`_id` begins with the job id, so a job is a range of `_id`s and listing it needs no other index. Instants are BSON
dates, decimals Decimal128. `change` is what the newest run made of the item (new, changed, unchanged or gone),
`changed` the names of the fields that differed when it last changed, `was` what they were before, `reparse` the number
of the reading again that it is from. Items of recurring jobs name their `page` (see `page_of`), by an index: `missing`
is {run, since, times} while that page answers 404 or 410, and `gone` since when the item counts as gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import xxhash
from bson.datetime_ms import DatetimeMS
from bson.dbref import DBRef
from bson.decimal128 import Decimal128

from odradek.contracts import Item
from odradek.stores.decimals import plain_decimal

Document = dict[str, Any]

ITEMS = "items"
"""Name of the collection, unless the job names another."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (UTC throughout, and written so)
_EXPORTED = ("_id", "type", "url", "job_id", "run", "first_seen", "last_seen", "meta", "data")


def collection_of(spec: Mapping[str, Any]) -> str:
    """The collection of a job's items, by its specification as it travels."""
    return str((spec.get("items") or {}).get("collection", ITEMS))


def page_of(job: str, url: str) -> str:
    """What the items of one page of a recurring job have in common."""
    return xxhash.xxh3_64_hexdigest(f"{job}\0{url}".encode())


def item_document(item: Item, data: dict[str, Any], first_seen_ms: int, page: str | None = None) -> Document:
    """A new item as it is stored; `data` is its data with decimals as Decimal128. `page`: of a recurring job."""
    document: Document = {
        "_id": item.id,
        "type": item.type,
        "url": item.url,
        "job_id": item.job,
        "run": item.run,
        "first_seen": DatetimeMS(first_seen_ms),
        "last_seen": DatetimeMS(item.fetched_at_ms),
        "meta": item.meta,
        "data": data,
        "content_hash": item.content_hash,
        "change": "new",
    }
    if item.reparse:
        document["reparse"] = item.reparse
    if page is not None:
        document["page"] = page
    return document


def job_range(job: str) -> Document:
    """A filter for all items of a job: the `_id`s that begin with `job:`."""
    return {"_id": {"$gte": f"{job}:", "$lt": f"{job};"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which items of a job are meant; None: whichever."""

    type: str | None = None
    run: int | None = None
    """In which they were seen last."""
    change: str | None = None
    """What that run made of them: new, changed, unchanged or gone."""
    since_ms: int | None = None
    """Last seen at this instant or later, in milliseconds since 1970."""

    def conditions(self) -> Document:
        """As a filter of MongoDB; empty for all items."""
        since = None if self.since_ms is None else {"$gte": DatetimeMS(self.since_ms)}
        wanted = {"type": self.type, "run": self.run, "change": self.change, "last_seen": since}
        return {name: value for name, value in wanted.items() if value is not None}


ALL_ITEMS = ItemFilter()


def instant(value: Any) -> str | None:
    """An instant of a document as ISO 8601 in UTC with milliseconds; None stays None."""
    if value is None:
        return None
    if isinstance(value, DatetimeMS):
        value = _EPOCH + timedelta(milliseconds=int(value))
    elif value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return f"{value.isoformat(timespec='milliseconds')}Z"


def without_references(data: Any) -> Any:
    """Data as it was stored: of an object that has `$ref` and `$id` the driver makes a kind of its own."""
    if isinstance(data, DBRef):
        data = data.as_doc()
    if isinstance(data, dict):
        return {name: without_references(each) for name, each in data.items()}
    return [without_references(each) for each in data] if isinstance(data, list) else data


def exported_line(document: Mapping[str, Any]) -> Document:
    """A stored item as users get it: the fields of design §6 in their order, decimals as strings again."""
    return {name: plain(document.get(name)) for name in _EXPORTED}


def exported_json(document: Mapping[str, Any]) -> bytes:
    """`exported_line` as one JSON line without its newline; faster, as the data is walked once."""
    return _encoder.encode({name: document.get(name) for name in _EXPORTED})


def plain(value: Any) -> Any:
    """Stored values as JSON has them, references as the objects that they were."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, DBRef):
        return plain(value.as_doc())
    if isinstance(value, Decimal128 | DatetimeMS | datetime):
        return _word(value)
    return value


def _word(value: Any) -> Any:
    """For the driver's own kinds: whole numbers past 32 bits, and objects that have `$ref` and `$id`."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, DBRef):
        return dict(value.as_doc())
    return plain_decimal(value) if isinstance(value, Decimal128) else instant(value)


_encoder = msgspec.json.Encoder(enc_hook=_word)
