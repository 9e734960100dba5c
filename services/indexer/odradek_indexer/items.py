"""Items into MongoDB: inserted first, and compared with what is stored only where the identity is there already."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from bson.datetime_ms import DatetimeMS
from pymongo import UpdateOne
from pymongo.collection import Collection

from odradek.errors import InfrastructureAway
from odradek.stores import Document, item_document, without_references
from odradek_indexer.core.duplicates import Candidate, Stored, Verdict, changed_fields, judge
from odradek_indexer.core.refusals import Fate
from odradek_indexer.pages import SeenPages
from odradek_indexer.writing import Updates, found, write

ROUNDS = 5
"""Two indexers hold one partition only for the moments of a take-over, so their writes rarely meet."""

_COMPARED = dict.fromkeys(
    ("first_seen", "last_seen", "content_hash", "run", "change", "changed", "was", "reparse", "missing", "gone"), 1
)


class Offered(msgspec.Struct, frozen=True):
    """One item to store."""

    candidate: Candidate
    data: dict[str, Any]
    """Its data as it is stored (decimals converted)."""
    page: str | None = None
    """Of a recurring job: what the items of its page have in common."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The item is in the store, as it was offered or later."""

    change: str
    """new, changed or unchanged."""
    changed: tuple[str, ...] = ()
    was: Mapping[str, Any] = field(default_factory=dict)
    """Values that the changed fields had before."""
    written: str = "nothing"
    """What this delivery did: inserted, replaced, touched or nothing."""
    newest: bool = True
    """False: the store knows a later fetch."""


@dataclass(frozen=True, slots=True)
class Unstorable:
    """MongoDB can never take this item."""

    error: str


Outcome = Kept | Unstorable

INSERTED = Kept("new", written="inserted")


@dataclass(frozen=True, slots=True)
class _Change:
    """An update that is about to be sent."""

    id: str
    kept: Kept
    update: UpdateOne


class ItemStore:
    """The collection of items. Blocking; one batch at a time."""

    def __init__(self, collection: Collection[Document]) -> None:
        self._collection = collection
        self._updates = Updates(collection)
        self.pages = SeenPages(collection)
        """The same items, by the pages they are from."""

    def store(self, offered: Mapping[str, Offered]) -> dict[str, Outcome]:
        """Store a batch; offering it again changes nothing and gives the same outcome, but for `written`.

        Raises:
            InfrastructureAway: not all of it could be stored now; what could be, is.
        """
        outcomes: dict[str, Outcome] = {}
        pending = dict(offered)
        for _ in range(ROUNDS):
            there = self._insert(pending, outcomes)
            pending = self._reconcile(there, outcomes) if there else {}
            if not pending:
                return outcomes
        raise InfrastructureAway(f"{len(pending)} items are being written by another indexer at the same time")

    def _insert(self, pending: Mapping[str, Offered], outcomes: dict[str, Outcome]) -> dict[str, Offered]:
        """Insert all; returns those whose identity is there already."""
        documents = [
            item_document(each.candidate.item, each.data, each.candidate.first_seen_ms, each.page)
            for each in pending.values()
        ]
        written = write(lambda part: self._collection.insert_many(part, ordered=False), documents)
        refused = {documents[each.place]["_id"]: each for each in written.refused}
        for name in pending:
            if name not in refused:
                outcomes[name] = INSERTED
            elif refused[name].fate is Fate.hopeless:
                outcomes[name] = Unstorable(refused[name].error)
        return {name: pending[name] for name, each in refused.items() if each.fate is Fate.there}

    def _reconcile(self, there: Mapping[str, Offered], outcomes: dict[str, Outcome]) -> dict[str, Offered]:
        """Compare with what is stored and change what differs; returns those that must be tried again."""
        stored = self._read(list(there), _COMPARED)
        verdicts = {
            name: (judge(there[name].candidate, _compared(document)), _compared(document))
            for name, document in stored.items()
        }
        before = self._read([name for name, (verdict, _) in verdicts.items() if verdict.replaces], {"data": 1})
        changes = []
        for name, (verdict, old) in verdicts.items():
            data = without_references(before.get(name, {}).get("data", {}))
            kept = _kept(verdict, old, data, there[name].data)
            if verdict.fields:
                changes.append(_Change(name, kept, _update(name, verdict, old, kept, there[name])))
            else:
                outcomes[name] = kept
        lost = {name: each for name, each in there.items() if name not in stored}
        return lost | {change.id: there[change.id] for change in self._send(changes, outcomes)}

    def _send(self, changes: list[_Change], outcomes: dict[str, Outcome]) -> list[_Change]:
        """Send updates; returns them when one of them found that its document had changed meanwhile."""
        written = self._updates.write([change.update for change in changes])
        refused = {each.place: each.error for each in written.refused}
        for place, error in refused.items():
            outcomes[changes[place].id] = Unstorable(error)
        rest = [change for place, change in enumerate(changes) if place not in refused]
        if written.matched < len(rest):
            return rest
        outcomes.update({change.id: change.kept for change in rest})
        return []

    def _read(self, names: list[str], fields: dict[str, int]) -> dict[str, Document]:
        return {document["_id"]: document for document in found(self._collection, "_id", names, fields)}


def _compared(document: Document) -> Stored:
    return Stored(
        first_seen_ms=int(document["first_seen"]),
        last_seen_ms=int(document["last_seen"]),
        content_hash=document["content_hash"],
        run=document["run"],
        change=document["change"],
        changed=tuple(document.get("changed", ())),
        reparse=document.get("reparse", 0),
        was=document.get("was", {}),
        missing="missing" in document,
        gone="gone" in document,
    )


def _kept(verdict: Verdict, old: Stored, before: dict[str, Any], after: dict[str, Any]) -> Kept:
    if verdict.replaces:
        changed = changed_fields(before, after)
        was = {name: before[name] for name in changed if name in before}
        if old.change == verdict.change == "changed" and verdict.fields.get("run") == old.run:
            changed, was = tuple(sorted({*old.changed, *changed})), {**was, **old.was}
        return Kept(verdict.change, changed, was, "replaced")
    return Kept(verdict.change, old.changed, old.was, "touched" if verdict.fields else "nothing", verdict.newest)


def _update(name: str, verdict: Verdict, old: Stored, kept: Kept, offered: Offered) -> UpdateOne:
    """Sets what changed, if the document is still the one that was compared."""
    fields: dict[str, Any] = {
        field.removesuffix("_ms"): DatetimeMS(value) if field.endswith("_ms") else value
        for field, value in verdict.fields.items()
    }
    if verdict.replaces:
        fields["data"] = offered.data
        if kept.change == "changed":
            fields["changed"], fields["was"] = list(kept.changed), dict(kept.was)
    if offered.page is not None and "url" in fields:
        fields["page"] = offered.page
    unchanged = {"_id": name, "last_seen": DatetimeMS(old.last_seen_ms), "content_hash": old.content_hash}
    if old.reparse:
        unchanged["reparse"] = old.reparse
    absent = {"$unset": {"missing": "", "gone": ""}} if verdict.returns else {}
    return UpdateOne(unchanged, {"$set": fields, **absent})
