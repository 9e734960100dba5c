"""Becomes another program that the kernel kills when the process which started it dies: `tether.py PARENT COMMAND…`.

Run as a script before anything else is imported, since a signal set up between fork and exec is not safe in a process
with threads. Linux only; elsewhere the program runs untethered.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
CANNOT_START = 127


def main(parent: int, command: list[str]) -> None:
    """Replace this process by `command`; it dies with the thread of `parent` that started it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the tether held
        sys.exit(CANNOT_START)
    try:
        os.execvp(command[0], command)  # noqa: S606  (the point: no shell)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
