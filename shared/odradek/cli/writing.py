"""Items into a file: under a temporary name, renamed when it is whole; memory does not grow with their number."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.errors import UserError
from odradek.exporting import TABLES, pyarrow

FORMATS = (".jsonl", ".csv", ".parquet")


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
        pyarrow()


def write_items(path: Path, lines: Iterable[str]) -> int:
    """Write exported JSON lines to `path` in the format of its ending; returns how many.

    Raises:
        UserError: the file cannot be written; what was at `path` before is still there.
    """
    counted = _Counted(lines)
    table = TABLES.get(path.suffix.removeprefix("."))
    with _renamed(path) as part, part.open("wb") as output:
        for piece in counted if table is None else table(counted):
            output.write(piece)
    return counted.number


class _Counted:
    """Lines as bytes, and how many they were."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.number += 1
            yield f"{line}\n".encode()


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
