"""Items as files: CSV and Parquet, a piece at a time."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from odradek_api.core.problems import Problem

COLUMNS = ("_id", "type", "url", "job_id", "run", "first_seen", "last_seen")
NESTED = ("meta", "data")
"""Written as JSON: their fields differ from type to type."""
ROW_GROUP = 5000


def csv_rows(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """CSV: the columns of every item, and `meta` and `data` as JSON."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([*COLUMNS, *NESTED])
    for line in lines:
        writer.writerow(_row(line).values())
        if buffer.tell() > io.DEFAULT_BUFFER_SIZE:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def parquet_pieces(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Parquet with the same columns; a row group for every 5,000 items, so memory stays small.

    Raises:
        Problem: 501 where pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  (an optional extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise Problem(501, "No Parquet", "Parquet needs the extra: pip install 'odradek[parquet]'.") from None
    schema = pa.schema([(name, pa.int64() if name == "run" else pa.string()) for name in (*COLUMNS, *NESTED)])
    rows, sink = iter(lines), _Sink()
    with parquet.ParquetWriter(sink, schema) as writer:
        while group := [_row(line) for line in islice(rows, ROW_GROUP)]:
            writer.write_table(pa.Table.from_pylist(group, schema))
            yield sink.taken()
    yield sink.taken()


def _row(line: dict[str, Any]) -> dict[str, Any]:
    fixed = {name: line.get(name) for name in COLUMNS}
    return fixed | {name: json.dumps(line.get(name), ensure_ascii=False) for name in NESTED}


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
