"""Unordered bulks to MongoDB: what was refused is told apart, and all that pymongo raises is mapped here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bson.errors import InvalidDocument
from pymongo import UpdateMany, UpdateOne, WriteConcern
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, OperationFailure, PyMongoError

from odradek.errors import InfrastructureAway
from odradek_indexer.core.refusals import Fate, fate_in_documents

Operation = TypeVar("Operation")

UNWRITABLE = (InvalidDocument, OverflowError, UnicodeEncodeError, RecursionError)
"""What the driver says of a document before it sends anything: too large, a NUL in a name, an integer past 64 bits."""


ASKED_TOGETHER = 50
"""Documents asked for at once: the embedded engine compares each that it finds with every name in the question."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One operation that was not done, by its place: the document is there already, or can never be stored."""

    place: int
    fate: Fate
    error: str


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a bulk."""

    matched: int
    """Documents that updates have found."""
    refused: tuple[Refused, ...] = ()


def write(send: Callable[[Sequence[Operation]], Any], operations: Sequence[Operation]) -> Written:
    """Send operations as one unordered bulk; when the bulk as a whole cannot be sent, each half of it.

    Raises:
        InfrastructureAway: MongoDB did not answer, or refused something for reasons that pass. What it did take
            stays; sending it again is told apart as `there`.
    """
    if not operations:
        return Written(0)
    try:
        return Written(int(getattr(send(operations), "matched_count", 0)))
    except BulkWriteError as error:
        return _told_apart(error)
    except UNWRITABLE as error:
        return _halved(send, operations, error)
    except OperationFailure as error:
        if fate_in_documents(error.code or 0) is Fate.hopeless and _about_documents(error):
            return _halved(send, operations, error)
        raise InfrastructureAway(f"MongoDB refuses: {error}") from error
    except PyMongoError as error:
        raise InfrastructureAway(f"MongoDB does not answer: {error}") from error


class Updates:
    """Bulks of updates of a collection.

    Only the last one of a bulk waits for the journal, which is written in order: waiting for each of them takes the
    embedded engine several times as long.
    """

    def __init__(self, collection: Collection[Any]) -> None:
        concern = collection.write_concern.document
        self._last = collection
        self._others = collection.with_options(write_concern=WriteConcern(**(concern | {"j": False})))

    def write(self, updates: Sequence[UpdateOne | UpdateMany]) -> Written:
        """As `write`."""
        others = write(lambda part: self._others.bulk_write(part, ordered=False), updates[:-1])
        last = write(lambda part: self._last.bulk_write(part, ordered=False), updates[-1:])
        return _both(others, last, len(updates[:-1]))


def found(
    collection: Collection[Any],
    field: str,
    values: Sequence[str],
    wanted: Mapping[str, int],
    more: Mapping[str, Any] = {},
) -> list[dict[str, Any]]:
    """Documents that have one of these values in a field, and `more`; asked for in parts. Raises as `answer_of`."""

    def part(start: int) -> list[dict[str, Any]]:
        some = values[start : start + ASKED_TOGETHER]
        return answer_of(lambda: list(collection.find({field: {"$in": some}, **more}, wanted)))

    return [document for start in range(0, len(values), ASKED_TOGETHER) for document in part(start)]


def answer_of(ask: Callable[[], Operation]) -> Operation:
    """What MongoDB answers to anything that is not a bulk.

    Raises:
        InfrastructureAway: it does not, or refuses.
    """
    try:
        return ask()
    except PyMongoError as error:
        raise InfrastructureAway(f"MongoDB does not answer: {error}") from error


def _told_apart(error: BulkWriteError) -> Written:
    details: Any = error.details
    refused = [Refused(each["index"], _fate(each), each.get("errmsg", "")) for each in details.get("writeErrors", ())]
    passing = [each.error for each in refused if each.fate is Fate.again]
    passing += [str(each.get("errmsg")) for each in details.get("writeConcernErrors", ())]
    if passing:
        raise InfrastructureAway(f"MongoDB refused {len(passing)} writes for now: {passing[0]}") from error
    return Written(details.get("nMatched", 0), tuple(refused))


def _fate(refusal: dict[str, Any]) -> Fate:
    """There already is only what is there under its `_id`: another unique index never takes this document."""
    fate = fate_in_documents(refusal["code"])
    ours = "_id" in refusal.get("keyPattern", {"_id": 1})
    return Fate.hopeless if fate is Fate.there and not ours else fate


def _about_documents(error: OperationFailure) -> bool:
    """True for codes that a document can cause: bad value, type, overflow, invalid BSON, too large, too deep."""
    return error.code in (2, 9, 14, 15, 22, 10334, 17420)


def _halved(send: Callable[[Sequence[Operation]], Any], operations: Sequence[Operation], error: Exception) -> Written:
    if len(operations) == 1:
        return Written(0, (Refused(0, Fate.hopeless, f"{type(error).__name__}: {error}"),))
    middle = len(operations) // 2
    return _both(write(send, operations[:middle]), write(send, operations[middle:]), middle)


def _both(first: Written, second: Written, middle: int) -> Written:
    """What became of two parts of one bulk; the second begins at `middle`."""
    moved = tuple(Refused(each.place + middle, each.fate, each.error) for each in second.refused)
    return Written(first.matched + second.matched, first.refused + moved)
