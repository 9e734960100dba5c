"""Items into a file: under a temporary name, renamed when it is whole; memory does not grow with their number."""

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from odradek.errors import UserError

FORMATS = (".jsonl", ".csv", ".parquet")
ROW_GROUP = 5000


def check_output(path: Path) -> None:
    """Refuse early what could not be written at the end.

    Raises:
        UserError: unknown ending, or no folder that can be written.
    """
    if path.suffix not in FORMATS:
        raise UserError(f"The output {path} ends in none of {', '.join(FORMATS)}; choose one of them.")
    folder = path.absolute().parent
    if path.is_dir():
        raise UserError(f"The output {path} cannot be written: it is a folder.")
    if not folder.is_dir():
        raise UserError(f"The output {path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"The output {path} cannot be written: the folder {folder} is read-only.", 1)
    if path.suffix == ".parquet":
        _pyarrow()


def write_items(path: Path, lines: Iterable[str]) -> int:
    """Write exported JSON lines to `path` in the format of its ending; returns how many.

    Raises:
        UserError: the file cannot be written; what was at `path` before is still there.
    """
    with _renamed(path) as part:
        if path.suffix == ".jsonl":
            return _jsonl(part, lines)
        # The columns are known only when the last item is: the lines wait on disk.
        with TemporaryFile("w+", encoding="utf-8", newline="\n", dir=part.parent) as spool:
            columns = _spooled(spool, lines)
            rows = map(_flat, spool)
            return _csv(part, columns, rows) if path.suffix == ".csv" else _parquet(part, columns, rows)


@contextmanager
def _renamed(path: Path) -> Iterator[Path]:
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise UserError(f"The output {path} cannot be written: {error.strerror}.", exit_code=1) from error
    finally:
        part.unlink(missing_ok=True)


def _jsonl(part: Path, lines: Iterable[str]) -> int:
    count = 0
    with part.open("w", encoding="utf-8", newline="\n") as output:
        for line in lines:
            output.write(line + "\n")
            count += 1
    return count


def _spooled(spool: IO[str], lines: Iterable[str]) -> list[str]:
    """Put the lines away and return the columns of all of them, in the order in which they first came."""
    columns: dict[str, None] = {}
    for line in lines:
        spool.write(line + "\n")
        columns |= dict.fromkeys(_flat(line))
    spool.seek(0)
    return list(columns)


def _flat(line: str) -> dict[str, Any]:
    """An item as one row: the fields of its data as `data.NAME`, what is nested as JSON."""
    record: dict[str, Any] = json.loads(line)
    data = record.pop("data") or {}
    meta = record.pop("meta") or {}
    nested = {name: json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v for name, v in data.items()}
    return record | {"meta": json.dumps(meta, ensure_ascii=False)} | {f"data.{name}": v for name, v in nested.items()}


def _csv(part: Path, columns: list[str], rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    with part.open("w", encoding="utf-8", newline="") as output:
        writer = csv.DictWriter(output, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def _parquet(part: Path, columns: list[str], rows: Iterator[dict[str, Any]]) -> int:
    pa, parquet = _pyarrow()
    schema, count = pa.schema([(column, pa.string()) for column in columns]), 0
    with parquet.ParquetWriter(part, schema) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            texts = [{name: None if v is None else _text(v) for name, v in row.items()} for row in group]
            writer.write_table(pa.Table.from_pylist(texts, schema))
            count += len(group)
    return count


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415  (an optional extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UserError("Parquet needs the extra: pip install 'odradek[parquet]'.") from None
    return pa, parquet
