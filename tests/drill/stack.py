"""The stack of a drill: two of every service on embedded engines, each of which can be hit by name."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.drill.brokers import broker_engines
from tests.drill.plugins import NAME

from odradek.engines.engine import Engine, http_answers
from odradek.engines.stack import Stack, StackOptions
from odradek.runtime.supervisor import Child, Happened
from odradek.settings import Settings

PARTITIONS: Final = 4
SESSION_S: Final = 6.0
STATE_MIB: Final = 512
START_S: Final = 150.0
"""A busy machine takes a minute for what takes two seconds."""
REPLICAS: Final = {"scheduler": 2, "fetcher": 2, "parser": 2, "indexer": 2, "api": 1}


class DrillStack(Stack):
    """Children are named KIND-NUMBER, engines by themselves."""

    def __init__(self, folder: Path, told: Callable[[Happened], None], brokers: int = 1) -> None:
        own = {
            "ODRADEK_ALLOW_PRIVATE_NETWORKS": "true",
            "ODRADEK_CONTACT_URL": "http://127.0.0.1/",
            "ODRADEK_PARTITIONS": str(PARTITIONS),
            "ODRADEK_SESSION_TIMEOUT": f"{SESSION_S}s",
            "ODRADEK_RETRY_DELAYS": "500ms,1s,2s",
            "ODRADEK_UNPARSED_LEASE": "90s",
            "ODRADEK_PLUGINS": NAME,
        }
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ODRADEK_")}
        self._brokers = broker_engines(folder, brokers) if brokers > 1 else {}
        kafka = ",".join(each.address for each in self._brokers.values()) or None
        options = StackOptions(folder=folder, environ=environ, kafka=kafka, overrides=own)
        super().__init__(options, told=told)
        self.children: dict[str, Child] = {}
        self._joined = 0

    async def start(self) -> None:
        """Brokers of their own first; then as any stack."""
        self.children |= {name: engine.child() for name, engine in self._brokers.items()}
        if self._brokers:
            await self.bring_up(*self._brokers)
        await super().start()

    @property
    def settings(self) -> Settings:
        """Those of every service."""
        return Settings.read(self.env)

    def members(self, kind: str) -> list[str]:
        """Names of this kind that are to be running."""
        return [name for name in self.children if name.partition("-")[0] == kind]

    def pid(self, name: str) -> int | None:
        """None while it is not running."""
        return self.supervisor.pid(name)

    def signal(self, name: str, what: signal.Signals) -> bool:
        """To a child, if it runs; whether it does."""
        pid = self.pid(name)
        if pid is not None:
            os.kill(pid, what)
        return pid is not None

    async def take_down(self, *names: str) -> None:
        """SIGTERM, and no new start."""
        await self.supervisor.stop_group(names)

    async def bring_up(self, *names: str) -> None:
        """Start children that were taken down."""
        patient = (replace(self.children[name], ready_deadline_s=START_S) for name in names)
        await self.supervisor.start(*patient)

    async def join(self, kind: str) -> str:
        """One more of a kind; its name."""
        self._joined += 1
        name = f"{kind}-{100 + self._joined}"
        self.children[name] = self._service(name)
        await self.bring_up(name)
        return name

    async def leave(self, name: str) -> None:
        """One less, told in advance."""
        await self.take_down(name)
        del self.children[name]

    def _engines(self) -> dict[str, Engine]:
        engines = super()._engines()
        self.children |= {name: engine.child() for name, engine in engines.items()}
        return engines

    def _services(self) -> list[Child]:
        names = [f"{kind}-{number}" for kind, count in REPLICAS.items() for number in range(count)]
        found = {name: self.children.get(name) or self._service(name) for name in names}
        self.children |= found
        return list(found.values())

    def _service(self, name: str) -> Child:
        kind, _, number = name.partition("-")
        if kind == "api":
            return super()._service(name)
        port = self._port_of(name)
        command = ("odradek", "service", kind) if kind != "parser" else ("tests.drill.parser",)
        env: Mapping[str, str] = self.env | {"ODRADEK_METRICS_PORT": str(port), "ODRADEK_INSTANCE": number}
        return Child(name, (sys.executable, "-m", *command), lambda: http_answers(port, "/health/ready"), env)


class SmallDisk:
    """A file system in memory of its own for the state folder, which can be made full and wide again.

    Raises:
        OSError: this machine does not let us mount one.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        _run("mount", "-t", "tmpfs", "-o", f"size={STATE_MIB}m,mode=0700", "odradek-drill", str(folder))

    def fill(self) -> None:
        """No further block is to be had.

        Raises:
            OSError: somebody has written whenever it was tried.
        """
        for left in reversed(range(5)):
            space = os.statvfs(self._folder)
            used = (space.f_blocks - space.f_bfree) * space.f_frsize
            try:
                _run("mount", "-o", f"remount,size={max(used, 4096)}", str(self._folder))
            except OSError:
                if not left:
                    raise
            else:
                return

    def widen(self) -> None:
        """As large as before."""
        _run("mount", "-o", f"remount,size={STATE_MIB}m", str(self._folder))

    def close(self) -> None:
        """Unmount it."""
        _run("umount", "-l", str(self._folder))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{command[0]}: {done.stderr.strip()}")
