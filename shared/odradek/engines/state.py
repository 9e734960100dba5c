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
            raise self._refusal(f"cannot be used ({error.strerror}); choose another with --state") from None
        try:
            self._hold(self._lock)
        except BaseException:
            self._release()
            raise
        return self

    def _hold(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 20).decode() or "unknown"
            raise self._refusal(f"is in use by process {holder}; wait for it or choose another with --state") from None
        try:
            os.ftruncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            probe = self.path / "probe"
            probe.write_bytes(b"\0" * 65_536)
            probe.unlink()
            space = os.statvfs(self.path)
        except OSError as error:
            why = f"cannot be written ({error.strerror}); free space or choose another with --state"
            raise self._refusal(why) from None
        free_mib, least_mib = space.f_bavail * space.f_frsize >> 20, LEAST_FREE_BYTES >> 20
        if free_mib < least_mib:
            why = f"has only {free_mib} MiB free and needs {least_mib}; free space or choose another with --state"
            raise self._refusal(why)

    def _refusal(self, why: str) -> UserError:
        return UserError(f"The state folder {self.path} {why}.", exit_code=1)

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()
