"""Items of pages that were asked for again and not read: they stand as they are, or are missing with their page.

All of it is written under conditions on what was read, so that a redelivery changes nothing and tells the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bson.datetime_ms import DatetimeMS
from pymongo import IndexModel, UpdateMany, UpdateOne
from pymongo.collection import Collection

from odradek.contracts import ItemChanged, PageSeen
from odradek.errors import InfrastructureAway
from odradek.stores import Document, page_of, plain
from odradek_indexer.core.absence import absent
from odradek_indexer.writing import Updates, answer_of, found

PAGE_INDEX = IndexModel([("page", 1)], name="page", sparse=True)
_ABSENCE = {"missing": "", "gone": ""}
_READ = dict.fromkeys(("type", "url", "job_id", "run", "last_seen", "change", "data", "missing", "gone", "page"), 1)

Told = dict[tuple[str, str, int], tuple[ItemChanged, ...]]
"""What outsiders are told because of a sighting: by job, URL and time (ms)."""
Changed = tuple[UpdateOne | None, ItemChanged | None]


class SeenPages:
    """The collection of items, by their pages. Blocking; one batch at a time."""

    def __init__(self, collection: Collection[Document]) -> None:
        self._collection = collection
        self._updates = Updates(collection)
        self._indexed = False

    def see(self, seen: Sequence[PageSeen], graces_ms: Mapping[str, int]) -> Told:
        """Write what the sightings say of their items; `graces_ms` by job.

        Raises:
            InfrastructureAway: not all of it could be written now; what could be, is.
        """
        if not self._indexed:
            answer_of(lambda: self._collection.create_indexes([PAGE_INDEX]))
            self._indexed = True
        newest = {page_of(each.job, each.url): each for each in sorted(seen, key=lambda each: each.at_ms)}
        there = {page: each for page, each in newest.items() if not each.missing}
        missing = {page: each for page, each in newest.items() if each.missing}
        self._updates.write([_stands(page, each) for page, each in there.items()])
        back = self._items(there, {"gone": {"$exists": True}})
        new = self._items(there, {"gone": {"$exists": False}, "change": "new"})
        told = self._change([*back, *new], there, _returned)
        return told | self._change(
            self._items(missing, {}), missing, lambda item, each: _missed(item, each, graces_ms.get(each.job, 0))
        )

    def _items(self, pages: Iterable[str], more: Document) -> list[Document]:
        """No `$or`: for that the embedded engine would look at all items."""
        return found(self._collection, "page", list(pages), _READ, more)

    def _change(self, items: list[Document], seen: Mapping[str, PageSeen], judge: Any) -> Told:
        told: dict[tuple[str, str, int], list[ItemChanged]] = {}
        updates: list[UpdateOne] = []
        for item in items:
            each = seen[item["page"]]
            update, change = judge(item, each)
            updates += [] if update is None else [update]
            if change is not None:
                told.setdefault((each.job, each.url, each.at_ms), []).append(change)
        if updates and self._updates.write(updates).matched < len(updates):
            raise InfrastructureAway("items are being written by another indexer at the same time")
        return {place: tuple(changes) for place, changes in told.items()}


def _stands(page: str, seen: PageSeen) -> UpdateMany:
    """What is stored of an unchanged page was there when it was seen."""
    return UpdateMany(
        {"page": page, "last_seen": {"$lt": DatetimeMS(seen.at_ms)}, "gone": {"$exists": False}},
        {
            "$set": {"last_seen": DatetimeMS(seen.at_ms), "run": seen.run, "change": "unchanged"},
            "$unset": {"missing": ""},
        },
    )


def _returned(item: Document, seen: PageSeen) -> Changed:
    """An item that was gone is there again as it was: new to whoever took it for gone."""
    told = _change(item, seen, "new", fields=plain(item["data"]))
    last_seen_ms = int(item["last_seen"])
    if "gone" in item and last_seen_ms < seen.at_ms:
        fields = {"last_seen": DatetimeMS(seen.at_ms), "run": seen.run, "change": "new"}
        return UpdateOne(_as_read(item), {"$set": fields, "$unset": _ABSENCE}), told
    again = item["change"] == "new" and (item["run"], last_seen_ms) == (seen.run, seen.at_ms)
    return None, told if again else None


def _missed(item: Document, seen: PageSeen, grace_ms: int) -> Changed:
    told = _change(item, seen, "gone", before=plain(item["data"]))
    absence = absent(item.get("missing"), seen.run, seen.at_ms)
    if absence is None or int(item["last_seen"]) > seen.at_ms:
        again = "gone" in item and item["change"] == "gone" and item["run"] == seen.run
        return None, told if again else None
    missing = {"run": absence.run, "since": DatetimeMS(absence.since_ms), "times": absence.times}
    fields: Document = {"missing": missing}
    if "gone" in item or not absence.gone(seen.at_ms, grace_ms):
        return UpdateOne(_as_read(item), {"$set": fields}), None
    fields |= {"gone": DatetimeMS(seen.at_ms), "change": "gone", "run": seen.run}
    return UpdateOne(_as_read(item), {"$set": fields}), told


def _as_read(item: Document) -> Document:
    """That the item is still what was read."""
    as_read: Document = {"_id": item["_id"], "last_seen": item["last_seen"]}
    if "missing" in item:
        as_read["missing.run"] = item["missing"]["run"]
    return as_read


def _change(item: Document, seen: PageSeen, change: str, **more: Any) -> ItemChanged:
    return ItemChanged(
        id=item["_id"], job=seen.job, change=change, type=item["type"], url=item["url"], run=seen.run,
        at_ms=seen.at_ms, **more,
    )  # fmt: skip
