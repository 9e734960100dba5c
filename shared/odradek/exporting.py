"""Items as tables: CSV and Parquet out of JSON lines, a piece at a time; the gateway and the command line write alike.

One column for each field of any item's data (`data.NAME`), beside those that every item has; of more than `MAX_FIELDS`
the rest lie together in one. The columns are known only when the last item is, so the lines wait in a file without a
name: memory does not grow with their number.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

from odradek.errors import UserError

Row = dict[str, Any]
FIRST = ("_id", "type", "url", "job_id", "run", "first_seen", "last_seen", "meta")
"""Columns of every table, also of an empty one."""
TEXTS = frozenset(FIRST) - {"run", "meta"}
MAX_FIELDS = 1000
"""Most fields that have a column of their own: items that name their fields after their values would make millions."""
REST = "data"
"""The column of all further fields, as one JSON object."""
GROUP_ROWS, GROUP_BYTES = 5000, 8 * 1024 * 1024
"""Most that one row group of Parquet is made of."""
PIECE_BYTES = 64 * 1024
MAX_EXACT = 1 << 53
"""Whole numbers up to here are exact as floating point, too."""
MAX_WHOLE = 1 << 63

_FORMULA = re.compile(r"[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""The wide forms count too: spreadsheets of East Asian languages take them."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_decode = msgspec.json.Decoder(Row).decode
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _Column:
    """What has been seen in a column."""

    kinds: set[type] = field(default_factory=set)
    largest: int = 0
    """Absolute value of the whole number farthest from zero."""

    def see(self, value: Any) -> None:
        kind = type(value)
        self.kinds.add(kind)
        if kind is int and abs(value) > self.largest:
            self.largest = abs(value)

    @property
    def kind(self) -> str:
        """What its values have in common: text, whole, real, truth; json: nothing, or they are nested."""
        kinds = self.kinds - {type(None)}
        if kinds <= {str}:
            return "text"
        if kinds == {bool}:
            return "truth"
        if kinds == {int} and self.largest < MAX_WHOLE:
            return "whole"
        if kinds == {float} or (kinds == {int, float} and self.largest <= MAX_EXACT):
            return "real"
        return "json"


def csv_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """CSV with a header. What is nested is JSON; null is empty.

    A text that a spreadsheet would take for a formula begins with an apostrophe; numbers stay as they are.
    """
    with TemporaryFile() as spool:
        columns = _spooled(spool, lines)
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow([_harmless(name) for name in columns])
        for line in spool:
            row = _row(line, columns)
            writer.writerow([_cell(row.get(name)) for name in columns])
            if buffer.tell() > PIECE_BYTES:
                yield buffer.getvalue().encode()
                buffer.seek(0)
                buffer.truncate()
        yield buffer.getvalue().encode()


def parquet_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Parquet, zstd: columns of one kind as it is, all others as JSON texts, which the column's metadata says.

    Raises:
        UserError: pyarrow is not installed.
    """
    pa, parquet = pyarrow()
    with TemporaryFile() as spool:
        columns = {name: column.kind for name, column in _spooled(spool, lines).items()}
        types = {
            "text": pa.string(),
            "json": pa.string(),
            "whole": pa.int64(),
            "real": pa.float64(),
            "truth": pa.bool_(),
        }
        schema = pa.schema([
            pa.field(name, types[kind], metadata={"odradek": "json"} if kind == "json" else None)
            for name, kind in columns.items()
        ])  # fmt: skip
        sink = _Sink()
        with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
            for group in _groups(spool):
                rows = [_row(line, columns) for line in group]
                arrays = [
                    pa.array([_typed(row.get(name), kind) for row in rows], types[kind])
                    for name, kind in columns.items()
                ]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                yield sink.taken()
        yield sink.taken()


TABLES: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {"csv": csv_pieces, "parquet": parquet_pieces}
"""By the ending of a file."""


def pyarrow() -> tuple[Any, Any]:
    """The library and its part for Parquet.

    Raises:
        UserError: it is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  (an optional extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UserError("Parquet needs the extra: pip install 'odradek[parquet]'.") from None
    return pa, parquet


def _spooled(spool: IO[bytes], lines: Iterable[bytes]) -> dict[str, _Column]:
    """Put the lines away and return the columns of all of them, in the order in which they first came."""
    columns = {name: _Column() for name in FIRST}
    for name in TEXTS:
        columns[name].see("")
    columns["run"].see(1)
    columns["meta"].see({})
    rest = _Column()
    for line in lines:
        spool.write(line.rstrip(b"\n") + b"\n")
        for name, value in _flat(_decode(line)).items():
            column = columns.get(name)
            if column is not None:
                column.see(value)
            elif len(columns) < len(FIRST) + MAX_FIELDS:
                columns[name] = _Column()
                columns[name].see(value)
            else:
                rest.see({})
    if rest.kinds:
        columns[REST] = rest
    spool.seek(0)
    return columns


def _flat(item: Row) -> Row:
    data = item.pop("data", None) or {}
    return item | {f"data.{name}": value for name, value in data.items()}


def _row(line: bytes, columns: Container[str]) -> Row:
    row = _flat(_decode(line))
    if REST in columns:
        further = {name.removeprefix("data."): value for name, value in row.items() if name not in columns}
        row[REST] = further or None
    return row


def _groups(spool: IO[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for line in spool:
        group.append(line)
        size += len(line)
        if len(group) == GROUP_ROWS or size > GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _typed(value: Any, kind: str) -> Any:
    if value is None or kind in ("text", "whole", "truth"):
        return value
    return float(value) if kind == "real" else _encode(value).decode()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _harmless(value)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False)


def _harmless(text: str) -> str:
    """Formulas are defused, as OWASP's note on CSV injection has it; -5.20 is a number."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


class _Sink(io.RawIOBase):
    """A file that only grows, and is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """What was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
