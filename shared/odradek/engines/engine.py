"""The seam to an embedded engine: a command to run, and how to know that it answers."""

import importlib.util
import random
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from odradek.errors import UserError
from odradek.runtime.supervisor import Child

LOOPBACK = "127.0.0.1"
LOWEST_PORT = 20_000
STOP_DEADLINE_S = 20.0
READY_DEADLINE_S = 600.0
"""An engine first reads what it has: the store some 13 s of processor time for each million of items."""


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

    def child(self) -> Child:
        """The engine as its supervisor wants it."""
        return Child(self.name, self.command, self.ready, self.env, READY_DEADLINE_S, STOP_DEADLINE_S)


def package_folder(package: str, what: str) -> Path:
    """Where the package that carries an engine is installed, found without importing it.

    Raises:
        UserError: it is not installed; `what` names the engine.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise UserError(
            f"The embedded {what} is not installed (no package {package}); pip install 'odradek[embedded]'."
        )
    return Path(found.submodule_search_locations[0])


def free_port() -> int:
    """A port of loopback that nobody holds now and that no outgoing connection will be given."""
    highest = _first_outgoing_port() - 1
    if highest > LOWEST_PORT:
        for _ in range(100):
            port = random.randint(LOWEST_PORT, highest)
            if port_is_free(port):
                return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _first_outgoing_port() -> int:
    """A crawl opens thousands of connections; one of them must not sit on the port of an engine that restarts."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return 32_768


def port_is_free(port: int, host: str = LOOPBACK) -> bool:
    """True when the port can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def remembered_port(folder: Path, fixed: int | None = None) -> int:
    """The port an engine had last time in this state folder if it is still free, else a free one, remembered.

    Raises:
        UserError: the port was fixed by a person and somebody else holds it.
    """
    if fixed is not None:
        if not port_is_free(fixed):
            raise UserError(f"Port {fixed} for {folder.name} is in use; free it or choose another.", exit_code=1)
        return fixed
    note = folder / "port"
    try:
        port = int(note.read_text())
    except (OSError, ValueError):
        port = 0
    if not port or not port_is_free(port):
        port = free_port()
        note.write_text(str(port))
    return port


def port_accepts(port: int) -> bool:
    """True once somebody listens on this port of loopback: the cheapest first question."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=0.5).close()
    except OSError:
        return False
    return True


def http_answers(port: int, path: str = "/") -> bool:
    """True once GET answers with 200."""
    connection = HTTPConnection(LOOPBACK, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200  # noqa: PLR2004  (HTTP's own number)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
