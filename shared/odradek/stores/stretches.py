"""A job's items a stretch of `_id`s at a time, for a store that holds in memory all that it answers.

The embedded MongoDB does, and looks through its whole collection for a range of `_id`s: it is given an index for them
once somebody asks for items of many. Any other MongoDB walks its `_id`s as they are asked for and needs neither.
"""

import re
from collections.abc import Iterator

from pymongo import ASCENDING, IndexModel
from pymongo.collection import Collection
from pymongo.errors import OperationFailure

from odradek.stores.items import ALL_ITEMS, Document, ItemFilter, items_match, job_range

WANTED = 1000
"""Items of a stretch, about."""
MANY = 50_000
BY_ID = IndexModel([("_id", ASCENDING), ("run", ASCENDING)], name="by_id")
"""Made when it is needed and not before: with it the embedded store takes three times as long to insert an item."""
_HASHES = 1 << 32
"""An `_id` ends with a hash in hexadecimal; so many differ in its first eight digits."""
_FIRST_WIDTH = _HASHES >> 12
_HASH = re.compile(r"[0-9a-f]{8}")


class Stretches:
    """Filters that go through the items of a job in the order of their ids.

    What a stretch `held` is set by whoever reads it, and the next one chosen by it. With conditions, which hide what a
    stretch holds, all are as narrow as the first.
    """

    def __init__(self, job: str, wanted: ItemFilter = ALL_ITEMS, *, after: str | None = None) -> None:
        """`after`: an `_id` of the job."""
        self._job, self._conditions, self._after = job, wanted.conditions(), after
        self.held = 0

    def __iter__(self) -> Iterator[Document]:
        """Filters until the last id of the job."""
        begins = _HASH.match(self._after or "", len(self._job) + 1)
        low, width = int(begins.group(), 16) if begins else 0, _FIRST_WIDTH
        lower = {"$gte": f"{self._job}:"} if self._after is None else {"$gt": self._after}
        while low < _HASHES:
            low = min(low + width, _HASHES)
            upper = f"{self._job}:{low:08x}" if low < _HASHES else f"{self._job};"
            self.held = 0
            yield {"_id": lower | {"$lt": upper}} | self._conditions
            lower = {"$gte": upper}
            if not self._conditions:
                width = max(1, width * WANTED // max(self.held, WANTED // 4))


class Whole:
    """The same in one: for a store that walks its ids, or has few."""

    def __init__(self, job: str, wanted: ItemFilter = ALL_ITEMS, *, after: str | None = None) -> None:
        self._match = items_match(job, wanted, after=after)
        self.held = 0

    def __iter__(self) -> Iterator[Document]:
        """One filter."""
        yield self._match


def way_through(
    items: Collection[Document], job: str, wanted: ItemFilter = ALL_ITEMS, *, after: str | None = None, many: int = MANY
) -> Stretches | Whole:
    """How this store is best asked for items of a job; it may take minutes, once, to make the index.

    `many`: items of a collection of which more are not looked through for each question.

    Raises:
        PyMongoError: the store does not answer.
    """
    indexed = str(BY_ID.document["name"])
    if indexed in items.index_information():
        return Stretches(job, wanted, after=after)
    if not _looks_through(items, job) or items.estimated_document_count() <= many:
        return Whole(job, wanted, after=after)
    items.create_indexes([BY_ID])
    return Stretches(job, wanted, after=after)


def _looks_through(items: Collection[Document], job: str) -> bool:
    """Whether the store goes through the whole collection for a range of `_id`s."""
    asked = {"find": items.name, "filter": job_range(job), "sort": {"_id": 1}}
    try:
        told = items.database.command("explain", asked, verbosity="queryPlanner")
    except OperationFailure:
        return False  # it does not tell
    return "COLLSCAN" in str(told.get("queryPlanner"))
