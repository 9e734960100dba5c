"""What the gateway needs of the world; Kafka and the stores stand behind it, and fakes in tests."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from odradek.contracts import Question
from odradek.kafka.records import Send, ToFrontier
from odradek.stores import ItemFilter

M_co = TypeVar("M_co", covariant=True)
Document = dict[str, Any]


class Log(Protocol):
    """Kafka for writing."""

    def partitions(self, topic: str) -> int:
        """Partition count of a topic; raises InfrastructureAway."""
        ...

    async def send(self, sends: Iterable[Send] = (), facts: Sequence[ToFrontier] = ()) -> None:
        """Returns when Kafka has acknowledged everything; raises InfrastructureAway."""
        ...


class Newest(Protocol[M_co]):
    """The newest value of every key of a compacted topic."""

    def get(self, key: str) -> M_co | None:
        """The value of a key."""
        ...

    def items(self) -> Sequence[tuple[str, M_co]]:
        """All of them."""
        ...


class Answers(Protocol):
    """The partitions' own knowledge: questions out, answers in."""

    async def ask(self, questions: dict[int, Question], patience_s: float = ...) -> dict[int, dict[str, Any]]:
        """One question for each partition named; the bodies of those that answered in time."""
        ...


class Drained(Protocol):
    """Knows whether everything sent so far has been worked through."""

    async def drained(self, within_s: float) -> bool:
        """True once fetchers, parsers and indexers have passed the ends that their topics had; False: not in time."""
        ...


class Changes(Protocol):
    """What became of items. Blocking: called in threads."""

    def after(self, job: str, since_ms: int | None, cursor: str | None, limit: int) -> dict[str, Any]:
        """{data, next_cursor, at_end, lost}; raises Problem 400 for a cursor that is none, InfrastructureAway."""
        ...


class Results(Protocol):
    """The stores for reading. Blocking: called in threads. A store that is away is a Problem 503."""

    def items_after(self, job: str, after: str | None, limit: int, wanted: ItemFilter = ...) -> list[Document]:
        """Items in the order of their ids, after `after`."""
        ...

    def export_lines(self, job: str, wanted: ItemFilter = ...) -> Iterator[bytes]:
        """Items as JSON lines in the order of their ids, read as they are taken."""
        ...

    def count_items(self, job: str, wanted: ItemFilter = ...) -> int:
        """How many are stored."""
        ...

    def freshness(self, job: str, within_s: float, now_ms: int) -> Document:
        """How many items were seen within that time, the oldest, and the same for each host."""
        ...

    def forget_job(self, job: str) -> int:
        """Delete a job's items and dead letters; returns the number of items."""
        ...

    def events(self, query: Document, limit: int, after: list[Any] | None = None) -> Document:
        """Crawl events, newest first: {total, data, after}."""
        ...

    def search(self, body: Document) -> Document:
        """Any search of crawl events, in Elasticsearch's own words."""
        ...

    def facets(self, query: Document) -> Document:
        """Counts of crawl events."""
        ...

    def letters(self, match: Document, limit: int) -> list[Document]:
        """Dead letters as stored, by id."""
        ...

    def letter_reasons(self, match: Document) -> list[Document]:
        """[{reason, count, replayed}] of those that match, most first."""
        ...

    def mark_replayed(self, ids: Sequence[str], at_ms: int) -> None:
        """Note that these dead letters were sent again."""
        ...
