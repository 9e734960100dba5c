"""A job's items a stretch of `_id`s at a time, for a store that holds in memory all that it answers.

The embedded MongoDB does, and looks through its whole collection for a range of `_id`s: it is given an index for them
once somebody asks for items of many. Any other MongoDB walks its `_id`s as they are asked for and needs neither.
"""

import re
from collections.abc import Callable, Iterator
from threading import Lock
from time import monotonic

from pymongo import ASCENDING, IndexModel
from pymongo.collection import Collection
from pymongo.errors import ExecutionTimeout, OperationFailure

from odradek.errors import InfrastructureAway
from odradek.stores.items import ALL_ITEMS, Document, ItemFilter, job_range

WANTED = 1000
"""Items of a stretch, about."""
MANY = 50_000
"""Items of a collection, of all jobs: so many are looked through, for more there is an index."""
BY_ID = IndexModel([("_id", ASCENDING), ("run", ASCENDING)], name="by_id")
"""For `_id`, of which alone none can be made. Made when it is needed and not before: with it the embedded store takes
three times as long to insert an item."""
MADE = "indexed"
"""Collection that names those whose index is whole: of an engine killed while it made one, a part of it is left."""
QUICK_S, SLOW_S = 0.05, 0.5
"""A stretch with conditions that took less is followed by one of twice its width, one that took more by half of it."""
WHOLE = 1 << 32
"""An `_id` ends with a hash in hexadecimal; its first eight digits are one of so many. As a width: all in one."""
_FIRST_WIDTH = WHOLE >> 12
_HASH = re.compile(r"[0-9a-f]{8}")
_BUSY = "An index of items is being made, which takes minutes; ask again."
_making = Lock()


class Stretches:
    """Filters that go through the items of a job in the order of their ids.

    What a stretch `held` is set by whoever reads it, and the next one chosen by it; with conditions, which hide what a
    stretch holds, by the time that it took.
    """

    def __init__(
        self,
        job: str,
        wanted: ItemFilter = ALL_ITEMS,
        *,
        after: str | None = None,
        width: int = _FIRST_WIDTH,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`after`: an `_id` of the job; `width`: of the first stretch, in hashes."""
        self._job, self._conditions, self._after = job, wanted.conditions(), after
        self._width, self._clock = width, clock
        self.held = 0

    def __iter__(self) -> Iterator[Document]:
        """Filters until the last id of the job."""
        begins = _HASH.match(self._after or "", len(self._job) + 1)
        low, width = int(begins.group(), 16) if begins else 0, self._width
        lower = {"$gte": f"{self._job}:"} if self._after is None else {"$gt": self._after}
        while low < WHOLE:
            low = min(low + width, WHOLE)
            upper = f"{self._job}:{low:08x}" if low < WHOLE else f"{self._job};"
            if self._after is not None and upper <= self._after:
                continue
            self.held, began_s = 0, self._clock()
            yield {"_id": lower | {"$lt": upper}} | self._conditions
            lower = {"$gte": upper}
            width = self._next(width, self._clock() - began_s)

    def _next(self, width: int, took_s: float) -> int:
        if not self._conditions:
            return max(1, width * WANTED // max(self.held, WANTED // 4))
        if took_s < QUICK_S:
            return width * 2
        return max(1, width // 2) if took_s > SLOW_S else width


def way_through(
    items: Collection[Document], job: str, wanted: ItemFilter = ALL_ITEMS, *, after: str | None = None, many: int = MANY
) -> Stretches:
    """How this store is best asked for items of a job; it may take minutes, once, to make the index.

    `many`: items of a collection of which more are not looked through for each question.

    Raises:
        PyMongoError: the store does not answer.
        InfrastructureAway: the index is being made.
    """
    if _making.locked():
        raise InfrastructureAway(_BUSY)
    there, vouched_for = _index(items)
    if not there and (not _looks_through(items, job) or items.estimated_document_count() <= many):
        return Stretches(job, wanted, after=after, width=WHOLE)
    if not vouched_for:
        _make_index(items)
    return Stretches(job, wanted, after=after)


def _index(items: Collection[Document]) -> tuple[bool, bool]:
    """Whether there is an index, and whether it is whole."""
    there = str(BY_ID.document["name"]) in items.index_information()
    return there, there and items.database[MADE].find_one({"_id": items.name}) is not None


def _make_index(items: Collection[Document]) -> None:
    """One thread does; an index of which only a part was made is dropped first."""
    if not _making.acquire(blocking=False):
        raise InfrastructureAway(_BUSY)
    try:
        there, vouched_for = _index(items)
        if vouched_for:
            return
        if there:
            items.drop_index(str(BY_ID.document["name"]))
        items.database[MADE].delete_one({"_id": items.name})
        items.create_indexes([BY_ID])
        items.database[MADE].insert_one({"_id": items.name})
    finally:
        _making.release()


def _looks_through(items: Collection[Document], job: str) -> bool:
    """Whether the store goes through the whole collection for a range of `_id`s."""
    asked = {"find": items.name, "filter": job_range(job), "sort": {"_id": 1}}
    try:
        told = items.database.command("explain", asked, verbosity="queryPlanner")
    except ExecutionTimeout:
        raise
    except OperationFailure:
        return False  # it does not tell
    return "COLLSCAN" in str(told.get("queryPlanner", {}).get("winningPlan"))
