"""Pages that kill or hang the process: the kernel keeps their time limit, and the next process knows what killed this.

Before a page is read its place is written into a small mapped file, which outlives the process.
"""

import mmap
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from odradek.errors import UserError
from odradek.kafka.records import Record

T = TypeVar("T")

log = structlog.get_logger()

LIMIT_S = 30.0
"""CPU time for one page, which a busy machine does not use up; the process ends beyond it, whatever library hangs."""
WAITING = 10
"""Times as long may pass on the clock: for a page whose plugin waits."""
MEMORY_BYTES = 6 * 1024**3
"""Address space of the process: a page that wants more is poison."""
STRIKES = 2
"""A page that ended the process so often is not read again."""
_LINE = 512
"""Bytes for one place at the most."""
_REMEMBERED = 128
"""Pages that ended a process; more than are read between two commits."""
_SIZE = _LINE * (1 + _REMEMBERED)


class Guard(Protocol):
    """Watches over single pages."""

    def condemned(self, record: Record) -> bool:
        """True for a page that must not be read again."""

    def begin(self, record: Record) -> None:
        """This page is being read from now on."""

    def rest(self) -> None:
        """No page is being read."""


def guarded(guard: Guard, record: Record, url: str, read: Callable[[], T]) -> T | str:
    """What reading a page gives; in words why it is poison: it ended the process before, or something raised."""
    if guard.condemned(record):
        return "the parser died of this page more than once"
    guard.begin(record)
    try:
        return read()
    except Exception as error:
        log.exception("poison_page", topic=record.topic, partition=record.partition, offset=record.offset, url=url)
        return f"{type(error).__name__}: {error}"


class NoGuard:
    """For tests and dry runs."""

    def condemned(self, record: Record) -> bool:  # noqa: ARG002  (a Guard)
        """Nothing is."""
        return False

    def begin(self, record: Record) -> None:
        """Nothing to note."""

    def rest(self) -> None:
        """Nothing to note."""


class ProcessGuard:
    """Time limit and memory of what happened, for the one thread that reads pages."""

    def __init__(self, path: Path, limit_s: float = LIMIT_S) -> None:
        """Open or create the file and judge what the last process left.

        Raises:
            UserError: the folder cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(number, _SIZE)
            os.posix_fallocate(number, 0, _SIZE)  # a full disk is told here; later it would be a signal
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}.", exit_code=1) from None
        self._map = mmap.mmap(number, _SIZE)
        os.close(number)
        self._limit_s = limit_s
        self._reading = ""
        self._strikes = dict(filter(None, map(_strike, self._map[_LINE:].partition(b"\0")[0].splitlines())))
        left = _strike(self._map[:_LINE].partition(b"\n")[0])
        if left is not None:
            place, strikes = left
            self._strikes.pop(place, None)
            self._strikes[place] = strikes + 1
            self._remember()
            log.warning("died_of_page", place=place, times=strikes + 1)

    def condemned(self, record: Record) -> bool:
        """True for a page that ended the process `STRIKES` times."""
        return bool(self._strikes) and self._strikes.get(_place(record), 0) >= STRIKES

    def begin(self, record: Record) -> None:
        """Note the page and start its time."""
        self._survived()
        place = self._reading = _place(record)
        note = f"{self._strikes.get(place, 0)} {place}\n".encode()[:_LINE]
        self._map[: len(note)] = note
        signal.setitimer(signal.ITIMER_PROF, self._limit_s)
        signal.setitimer(signal.ITIMER_REAL, self._limit_s * WAITING)

    def rest(self) -> None:
        """Forget the page; nothing is timed."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._map[0] = 10  # an empty line
        self._survived()

    def _survived(self) -> None:
        """A page that was read after all had nothing to do with the death that it was found at."""
        if self._strikes and self._strikes.pop(self._reading, 0):
            self._remember()
        self._reading = ""

    def _remember(self) -> None:
        """In the file: before all is committed, another page may end this process too."""
        newest = list(self._strikes.items())[-_REMEMBERED:]
        text = "".join(f"{strikes} {place}\n" for place, strikes in newest).encode()[: _SIZE - _LINE]
        self._map[_LINE:] = text.ljust(_SIZE - _LINE, b"\0")


def limit_memory(limit_bytes: int = MEMORY_BYTES) -> None:
    """Let allocations beyond the limit fail here instead of taking the machine down."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(limit_bytes, hard) if hard >= 0 else limit_bytes, hard))


def _strike(line: bytes) -> tuple[str, int] | None:
    """Place and number in a line of the file; None: there is none."""
    strikes, _, place = line.decode(errors="replace").partition(" ")
    return (place, int(strikes)) if strikes.isdecimal() and strikes.isascii() and place else None


def _place(record: Record) -> str:
    return f"{record.topic}-{record.partition}-{record.offset}"
