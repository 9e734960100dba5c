"""What is special to the scheduler: its group, its pace, and the folder of its local tables."""

import fcntl
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from odradek.errors import UserError
from odradek.settings import Settings

SERVICE: Final = "scheduler"

COMMIT_EVERY_S: Final = 0.5
"""How much of the log is folded again after a kill."""
REPORT_EVERY_S: Final = 0.3
HOSTS_EVERY_S: Final = 2.0
COMPLETION_EVERY_S: Final = 0.2
BARRIER_EVERY_S: Final = 0.2
DEFAULT_LEASE_S: Final = 60.0
"""Longest life of a predecessor's request when no job says more: a total timeout of 30 s, and 30 s."""
STOP_DEADLINE_S: Final = 4.0
"""A Faust worker can ignore that it should stop; after this the process ends without it (rule N)."""
COMPACTION_LAG_MS: Final = 300_000
"""Of the changelogs: above the longest pause of a process that is tolerated (rule B)."""
MOST_INSTANCES: Final = 64


@dataclass(frozen=True, slots=True)
class StateFolder:
    """A folder that this process alone uses, as long as `lock` is open."""

    path: Path
    lock: int
    member: str
    """Name in the consumer group, the same at every start: a successor after a kill need not wait for the time-out."""


def claim_state_folder(settings: Settings) -> StateFolder:
    """The folder named by `ODRADEK_INSTANCE`, or the first free one numbered after it.

    The same processes get the same folders again, so their tables are still warm.

    Raises:
        UserError: the folder cannot be written, or all are in use.
    """
    base = settings.state_dir / SERVICE
    for number in range(MOST_INSTANCES):
        path = base / (settings.instance if number == 0 else f"{settings.instance}-{number}")
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(
                f"ODRADEK_STATE_DIR {settings.state_dir} cannot be written: {error.strerror}.", exit_code=1
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return StateFolder(path, lock, _member(path / "member"))
    raise UserError(
        f"All folders in {base} are in use; give this scheduler an ODRADEK_INSTANCE of its own.", exit_code=1
    )


def _member(note: Path) -> str:
    if not note.exists():
        note.write_text(uuid.uuid4().hex)
    return note.read_text().strip()
