"""Items into a file: under a temporary name, renamed when it is whole."""

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from odradek.errors import UserError

FORMATS = (".jsonl", ".csv", ".parquet")
BATCH = 5000


def check_output(path: Path) -> None:
    """Refuse early what could not be written at the end.

    Raises:
        UserError: unknown ending, or no folder that can be written.
    """
    if path.suffix not in FORMATS:
        raise UserError(f"The output {path} ends in none of {', '.join(FORMATS)}; choose one of them.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UserError(f"The output {path} cannot be written: there is no folder {path.absolute().parent}.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UserError(f"The output {path} cannot be written: the folder {path.absolute().parent} is read-only.", 1)


def write_items(path: Path, lines: Iterable[str]) -> int:
    """Write exported JSON lines to `path` in the format of its ending; returns how many."""
    with _renamed(path) as output:
        if path.suffix == ".jsonl":
            return _jsonl(output, lines)
        if path.suffix == ".csv":
            return _csv(output, lines)
        return _parquet(output.name, lines)


@contextmanager
def _renamed(path: Path) -> Iterator[IO[str]]:
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as output:
            yield output
        part.replace(path)
    except OSError as error:
        raise UserError(f"The output {path} cannot be written: {error.strerror}.", exit_code=1) from error
    finally:
        part.unlink(missing_ok=True)


def _jsonl(output: IO[str], lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        output.write(line + "\n")
        count += 1
    return count


def _flat(line: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line)
    data = record.pop("data") or {}
    meta = record.pop("meta") or {}
    nested = {name: json.dumps(v, ensure_ascii=False) if isinstance(v, dict | list) else v for name, v in data.items()}
    return record | {"meta": json.dumps(meta, ensure_ascii=False)} | {f"data.{name}": v for name, v in nested.items()}


def _csv(output: IO[str], lines: Iterable[str]) -> int:
    rows = [_flat(line) for line in lines]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(output, columns)
    writer.writeheader()
    writer.writerows(rows)
    return len(rows)


def _parquet(name: str, lines: Iterable[str]) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415  (an optional extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UserError("Parquet needs the extra: pip install 'odradek[parquet]'.") from None
    rows = [{name: None if v is None else str(v) for name, v in _flat(line).items()} for line in lines]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({column: pa.array([row.get(column) for row in rows], pa.string()) for column in columns})
    parquet.write_table(table, name)
    return len(rows)
