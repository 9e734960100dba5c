"""Runs engines and services as child processes: ready before the next one needs them, restarted when they die.

A child never outlives its supervisor: the kernel kills it when the supervisor dies, however that happens.
"""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from odradek.errors import UserError
from odradek.runtime.restarts import Restarts

log = structlog.get_logger()

PROBE_S = 0.05
TAIL_LINES = 8
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Child:
    """A process to be kept alive."""

    name: str
    command: Sequence[str]
    ready: Callable[[], bool]
    """Blocking, short; True once it does its work."""
    env: Mapping[str, str] = field(default_factory=dict)
    ready_deadline_s: float = 60.0
    stop_deadline_s: float = 25.0


@dataclass(frozen=True, slots=True)
class Happened:
    """Something happened to a child."""

    at_s: float
    """Of the monotonic clock."""
    name: str
    event: str
    """started, ready, died, stopped, killed"""
    detail: str = ""


@dataclass(slots=True)
class _Kept:
    child: Child
    process: asyncio.subprocess.Process
    started_s: float
    watch: "asyncio.Task[None] | None" = None


class Supervisor:
    """Keeps children alive until `stop`; `told` hears of everything that happens to them."""

    def __init__(self, logs: Path, told: Callable[[Happened], None] = lambda _: None) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._told = told
        self._kept: dict[str, _Kept] = {}
        self._stopping = False

    def pid(self, name: str) -> int | None:
        """Process id of a child, None while it is not running."""
        kept = self._kept.get(name)
        return kept.process.pid if kept is not None and kept.process.returncode is None else None

    async def start(self, *children: Child) -> None:
        """Start children together and wait until all are ready.

        Raises:
            UserError: one died or was not ready in time; the last lines of its log are quoted.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for child in children:
                    group.create_task(self._start(child))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _start(self, child: Child) -> None:
        kept = await self._spawn(child)
        await self._until_ready(kept)
        kept.watch = asyncio.create_task(self._watch(kept, Restarts()))

    async def _spawn(self, child: Child) -> _Kept:
        path = self._logs / f"{child.name}.log"
        with path.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *child.command,
                env={**os.environ, **child.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        kept = _Kept(child, process, time.monotonic())
        self._kept[child.name] = kept
        self._tell(child.name, "started", f"pid {process.pid}")
        return kept

    async def _until_ready(self, kept: _Kept) -> None:
        child, deadline = kept.child, time.monotonic() + kept.child.ready_deadline_s
        while not await asyncio.to_thread(child.ready):
            if kept.process.returncode is not None:
                raise UserError(f"{child.name} ended with {kept.process.returncode}: {self._tail(child)}", exit_code=1)
            if time.monotonic() > deadline:
                await self._end(kept, deadline_s=1)
                waited = f"{child.ready_deadline_s:.0f} s"
                raise UserError(f"{child.name} was not ready after {waited}: {self._tail(child)}", exit_code=1)
            await asyncio.sleep(PROBE_S)
        self._tell(child.name, "ready", f"{time.monotonic() - kept.started_s:.2f} s")

    async def _watch(self, kept: _Kept, restarts: Restarts) -> None:
        while True:
            code = await kept.process.wait()
            if self._stopping:
                return
            self._tell(kept.child.name, "died", f"code {code}")
            await asyncio.sleep(restarts.next_wait_s(time.monotonic() - kept.started_s))
            watch = kept.watch
            kept = await self._spawn(kept.child)
            kept.watch = watch
            with suppress(UserError):
                await self._until_ready(kept)

    async def stop(self) -> None:
        """End every child, the last started first: SIGTERM, deadline, SIGKILL to its group."""
        self._stopping = True
        for kept in reversed(list(self._kept.values())):
            if kept.watch is not None:
                kept.watch.cancel()
            await self._end(kept, kept.child.stop_deadline_s)
        self._kept.clear()

    async def stop_group(self, names: Sequence[str]) -> None:
        """End these children together."""
        kept = [self._kept.pop(name) for name in names if name in self._kept]
        for each in kept:
            if each.watch is not None:
                each.watch.cancel()
        await asyncio.gather(*(self._end(each, each.child.stop_deadline_s) for each in kept))

    async def _end(self, kept: _Kept, deadline_s: float) -> None:
        process, name = kept.process, kept.child.name
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), deadline_s)
            self._tell(name, "stopped", f"code {process.returncode}")
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            self._tell(name, "killed", f"did not stop within {deadline_s:.0f} s")

    def _tail(self, child: Child) -> str:
        path = self._logs / f"{child.name}.log"
        lines = path.read_text(errors="replace").strip().splitlines()[-TAIL_LINES:]
        return " | ".join(lines) or f"see {path}"

    def _tell(self, name: str, event: str, detail: str) -> None:
        self._told(Happened(time.monotonic(), name, event, detail))
