"""Dead letters into MongoDB, for listing and replay; the same poison is one document however often it comes."""

from collections.abc import Sequence
from typing import Any

import structlog
from pymongo import ASCENDING, IndexModel
from pymongo.collection import Collection

from odradek.stores import Document
from odradek_indexer.core.refusals import Fate
from odradek_indexer.writing import answer_of, write

log = structlog.get_logger()

INDEXES = (
    IndexModel([("reason", ASCENDING), ("_id", ASCENDING)]),
    IndexModel([("job_id", ASCENDING), ("_id", ASCENDING)]),
)


class DeadLetterStore:
    """The collection of dead letters. Blocking; one batch at a time."""

    def __init__(self, collection: Collection[Document]) -> None:
        self._collection = collection
        self._prepared = False

    def store(self, letters: Sequence[Document]) -> None:
        """Store a batch; those that are there already stay as they are.

        A letter that MongoDB can never take is kept without its value, which replay finds in the topic.

        Raises:
            InfrastructureAway: not all of it could be stored now; what could be, is.
        """
        if not self._prepared:
            answer_of(lambda: self._collection.create_indexes(list(INDEXES)))
            self._prepared = True
        bare = [_bare(letters[place], error) for place, error in self._hopeless(letters)]
        for place, error in self._hopeless(bare):
            log.error("dead_letter_lost", id=bare[place]["_id"], error=error)

    def _hopeless(self, letters: Sequence[Document]) -> list[tuple[int, str]]:
        send: Any = lambda part: self._collection.insert_many(part, ordered=False)  # noqa: E731  (typed)
        return [(each.place, each.error) for each in write(send, letters).refused if each.fate is Fate.hopeless]


def _bare(letter: Document, error: str) -> Document:
    return letter | {"value": None, "page": None, "stored_without_value": error[:1000]}
