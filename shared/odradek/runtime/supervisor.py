"""Runs engines and services as child processes: ready before the next one needs them, restarted when they die.

A child never outlives its supervisor: the kernel kills it when the supervisor dies, however that happens (the tether
belongs to the thread that starts the child, so the supervisor's event loop runs in a thread that lasts). What a child
has started itself shares its process group and ends with it.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from odradek.errors import UserError
from odradek.runtime import tether
from odradek.runtime.childlog import ChildLog
from odradek.runtime.restarts import Restarts

PROBE_S = 0.05
"""Between two questions whether a child is ready."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process to be kept alive."""

    name: str
    command: Sequence[str]
    ready: Callable[[], bool]
    """Blocking, short; True once it does its work."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to what the supervisor gives every child."""
    ready_deadline_s: float = 60.0
    """Of its first start. One that was started again may take as long as it takes: it reads what it has, or waits for
    others, and would begin anew if it were ended."""
    stop_deadline_s: float = 25.0


Event = Literal["started", "ready", "died", "restarted", "stopped", "killed"]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something happened to a child. A recovery runs from `died` to the next `ready`."""

    at_s: float
    """Of the monotonic clock."""
    name: str
    event: Event
    """`restarted` is `started` after a death; `killed` is a stop that was ignored until its deadline."""
    detail: str = ""


@dataclass(slots=True)
class _Kept:
    child: Child
    log: ChildLog
    process: asyncio.subprocess.Process
    started_s: float
    watch: "asyncio.Task[None] | None" = None


def tethered(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a process that is to die with this one, whatever happens; Linux only."""
    return (sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command)


class Supervisor:
    """Keeps children alive until `stop`; `told` hears of everything that happens to them.

    `env` is the environment that every child starts from; None: this process's own.
    """

    def __init__(
        self, logs: Path, told: Callable[[Happened], None] = lambda _: None, env: Mapping[str, str] | None = None
    ) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.ready_s: dict[str, float] = {}
        """Seconds from start to ready, by child; the newest start counts."""
        self._logs, self._told = logs, told
        self._env = dict(os.environ if env is None else env)
        self._kept: dict[str, _Kept] = {}
        self._groups: list[tuple[str, ...]] = []

    def pid(self, name: str) -> int | None:
        """Process id of a child, None while it is not running."""
        kept = self._kept.get(name)
        return kept.process.pid if kept is not None and kept.process.returncode is None else None

    async def start(self, *children: Child) -> None:
        """Start children together and wait until all are ready.

        Raises:
            UserError: one died or was not ready in time; the last lines of its log are quoted.
        """
        self._groups.append(tuple(child.name for child in children))
        try:
            async with asyncio.TaskGroup() as group:
                for child in children:
                    group.create_task(self._start(child))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def stop(self) -> None:
        """End every child: what was started last goes first, what was started together goes together."""
        for names in reversed(self._groups):
            await self.stop_group(names)
        self._groups.clear()

    async def stop_group(self, names: Sequence[str]) -> None:
        """End these children together: SIGTERM, each its own deadline, SIGKILL to its group."""
        watches = [kept.watch for name in names if (kept := self._kept.get(name)) and kept.watch is not None]
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        ending = [self._kept.pop(name) for name in names if name in self._kept]
        await asyncio.gather(*(self._end(kept, kept.child.stop_deadline_s) for kept in ending))

    async def _start(self, child: Child) -> None:
        kept = await self._spawn(child, ChildLog(self._logs, child.name), "started")
        await self._until_ready(kept)
        kept.watch = asyncio.create_task(self._watch(kept, Restarts()), name=f"watch {child.name}")

    async def _spawn(self, child: Child, log: ChildLog, event: Event) -> _Kept:
        with log.begin() as output:
            process = await asyncio.create_subprocess_exec(
                *tethered(child.command),
                env={**self._env, **child.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        kept = self._kept[child.name] = _Kept(child, log, process, time.monotonic())
        self._tell(child.name, event, f"pid {process.pid}")
        return kept

    async def _until_ready(self, kept: _Kept, *, again: bool = False) -> None:
        child, process = kept.child, kept.process
        deadline = kept.started_s + child.ready_deadline_s
        while True:
            ready = await asyncio.to_thread(child.ready)
            if process.returncode is not None:  # asked first: whoever answered then was somebody else
                _kill_group(process)
                raise UserError(f"{child.name} ended with {process.returncode}: {kept.log.tail()}", exit_code=1)
            if ready:
                break
            if time.monotonic() > deadline and not again:
                await self._end(kept, deadline_s=1)
                waited = f"{child.ready_deadline_s:g} s"
                raise UserError(f"{child.name} was not ready after {waited}: {kept.log.tail()}", exit_code=1)
            await asyncio.sleep(PROBE_S)
        took_s = self.ready_s[child.name] = round(time.monotonic() - kept.started_s, 2)
        self._tell(child.name, "ready", f"{took_s:.2f} s")

    async def _watch(self, kept: _Kept, restarts: Restarts) -> None:
        while True:
            code = await kept.process.wait()
            _kill_group(kept.process)
            self._tell(kept.child.name, "died", f"code {code}")
            await asyncio.sleep(restarts.next_wait_s(time.monotonic() - kept.started_s))
            watch, kept.started_s = kept.watch, time.monotonic()
            try:
                kept = await self._spawn(kept.child, kept.log, "restarted")
            except OSError:  # no room, no file, no process to spare: tried again like any death
                continue
            kept.watch = watch
            with suppress(UserError):  # its death is told and counted by the next round
                await self._until_ready(kept, again=True)

    async def _end(self, kept: _Kept, deadline_s: float) -> None:
        process, name = kept.process, kept.child.name
        try:
            if process.returncode is not None:
                return
            process.terminate()
            await asyncio.wait_for(process.wait(), deadline_s)
            self._tell(name, "stopped", f"code {process.returncode}")
        except ProcessLookupError:  # it has just ended by itself
            await process.wait()
        except TimeoutError:
            _kill_group(process)
            await process.wait()
            self._tell(name, "killed", f"did not stop within {deadline_s:g} s")
        finally:
            _kill_group(process)

    def _tell(self, name: str, event: Event, detail: str) -> None:
        self._told(Happened(time.monotonic(), name, event, detail))


def _kill_group(process: asyncio.subprocess.Process) -> None:
    """What a child leaves behind goes with it; nothing where it left nothing."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
