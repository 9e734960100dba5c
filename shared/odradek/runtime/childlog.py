"""What a child process prints, kept in a file of bounded size and quoted when it fails."""

import shutil
from pathlib import Path
from typing import BinaryIO

LARGEST_BYTES = 16 * 1024 * 1024
"""A log larger than this is set aside as NAME.log.1 at the next start; the one set aside before is dropped."""
TAIL_LINES = 8
_TAIL_BYTES = 16 * 1024
_FULL_BYTES = 64 * 1024
"""With less room than this a child could not have said what is wrong."""


class ChildLog:
    """The log of one child: everything it printed since it was started first."""

    def __init__(self, folder: Path, name: str, largest_bytes: int = LARGEST_BYTES) -> None:
        self.path = folder / f"{name}.log"
        self._largest_bytes = largest_bytes
        self._from = 0

    def begin(self) -> BinaryIO:
        """Opened for appending, for one life of the child; `tail` quotes from here on."""
        if self.path.exists() and self.path.stat().st_size > self._largest_bytes:
            self.path.replace(self.path.with_suffix(".log.1"))
        output = self.path.open("ab")
        self._from = output.tell()
        return output

    def tail(self) -> str:
        """The last lines of this life in one line; the file's name when it printed nothing; a full disk before all."""
        with self.path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(self._from, size - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()][-TAIL_LINES:]
        if shutil.disk_usage(self.path.parent).free < _FULL_BYTES:
            lines.insert(0, f"the disk of {self.path.parent} is full")
        return " | ".join(lines) or f"it printed nothing to {self.path}"
