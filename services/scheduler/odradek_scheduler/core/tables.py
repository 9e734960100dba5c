"""The four tables of one frontier partition, as bytes: a cache of the fold of its log (rule A)."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, Protocol

TableName = Literal["seen", "backlog", "hosts", "ledger"]
TABLE_NAMES: tuple[TableName, ...] = ("seen", "backlog", "hosts", "ledger")


class Tables(Protocol):
    """State of ONE partition. What was written is visible to the next `get`."""

    def get(self, table: TableName, key: bytes) -> bytes | None:
        """The value of a key, or None."""

    def scan(self, table: TableName, prefix: bytes, first: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys that begin with `prefix` and are not below `first`, in order, with their values, as of the call.

        The iterator may be used in another thread, also while the partition is written.
        """


class Write(NamedTuple):
    """One change of a table; `offset` is the frontier offset it carries, also when it is a tombstone (value None)."""

    table: TableName
    key: bytes
    value: bytes | None
    offset: int


def value_offset(table: TableName, value: bytes) -> int:  # noqa: ARG001  (the rule may come to differ by table)
    """The frontier offset inside a value, for the rule that the newest wins in recovery.

    Every value is a JSON array whose first element it is.
    """
    return int(value[1 : value.index(b",")])


class Stretch(NamedTuple):
    """Some rows of a long scan."""

    rows: list[tuple[bytes, bytes]]
    go_on: bytes | None
    """The key to go on from; None: there are no more."""


def rows_from(tables: Tables, table: TableName, prefix: bytes, first: bytes, most: int) -> Stretch:
    """At most so many rows whose key begins with the prefix, from a key on: a long scan in bounded steps."""
    rows = list(islice(tables.scan(table, prefix, first), most))
    return Stretch(rows, None if len(rows) < most else rows[-1][0] + b"\0")
