"""The seam to an embedded engine: a command to run, and how to know that it answers."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine as a process of its own, bound to loopback."""

    name: str
    command: tuple[str, ...]
    address: str
    """What the services' setting wants: HOST:PORT or a URL."""
    ready: Callable[[], bool]
    """True once it answers; blocking, at most a second or two."""
    env: Mapping[str, str] = field(default_factory=dict)


def free_port() -> int:
    """A port of loopback that nobody holds now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int, host: str = LOOPBACK) -> bool:
    """True when the port can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def remembered_port(folder: Path) -> int:
    """The port an engine had last time in this state folder if it is still free, else a free one, remembered."""
    note = folder / "port"
    try:
        port = int(note.read_text())
    except (OSError, ValueError):
        port = 0
    if not port or not port_is_free(port):
        port = free_port()
        note.write_text(str(port))
    return port
