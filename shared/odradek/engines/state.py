"""The state folder of an embedded stack: ours alone, locked while in use, and remembered by specification."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from odradek.errors import UserError

LEAST_FREE_BYTES = 200 * 1024 * 1024


class StateFolder:
    """A folder (mode 0700) with a lock file. `with StateFolder(path):` holds it.

    Raises:
        UserError: it cannot be made or written, the disk is full, or another Odradek uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UserError(
                f"The state folder {self.path} cannot be used: {error.strerror}; choose another with --state.",
                exit_code=1,
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = (self.path / "lock").read_text().strip() or "unknown"
            os.close(self._lock)
            raise UserError(
                f"The state folder {self.path} is in use by process {holder}; wait for it or choose another with "
                "--state.",
                exit_code=1,
            ) from None
        self._note_holder()
        return self

    def _note_holder(self) -> None:
        assert self._lock is not None  # noqa: S101  (set just before)
        try:
            os.ftruncate(self._lock, 0)
            os.write(self._lock, str(os.getpid()).encode())
            probe = self.path / "probe"
            probe.write_bytes(b"\0" * 65_536)
            probe.unlink()
            space = os.statvfs(self.path)
        except OSError as error:
            raise UserError(
                f"The state folder {self.path} cannot be written: {error.strerror}; free space or choose another with "
                "--state.",
                exit_code=1,
            ) from None
        free = space.f_bavail * space.f_frsize
        if free < LEAST_FREE_BYTES:
            raise UserError(
                f"The state folder {self.path} has only {free // 2**20} MiB free and needs "
                f"{LEAST_FREE_BYTES // 2**20}; free space or choose another with --state.",
                exit_code=1,
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
