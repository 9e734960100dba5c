"""CPU seconds and memory of a tree of processes, by what each of them is."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psutil

EVERY_S = 1.0
ENGINES = {"kafka.Kafka": "kafka", "secantusd": "mongodb", "noida-db": "elasticsearch", "nginx": "site"}
"""A word of an engine's command line, and its name."""


@dataclass(slots=True)
class Used:
    """What the processes of one name have used since the meter was set: CPU seconds, and the most memory at once."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    peak_rss: dict[str, int] = field(default_factory=dict)
    """Bytes; processes of one name together."""
    peak_total_rss: int = 0
    """Bytes of all processes together, at the worst instant."""


class Meter:
    """Reads every process below some roots; processes that have ended stay counted."""

    def __init__(self, roots: Callable[[], dict[str, int]]) -> None:
        self._roots = roots
        self._spent: dict[tuple[int, float], tuple[str, float]] = {}
        self._before: dict[str, float] = {}
        self.used = Used()

    def reset(self) -> None:
        """Count from now on."""
        self.used = Used()
        self._before = {}
        self.read()
        self._before = dict(self.used.cpu_s)
        self.read()

    def read(self) -> None:
        """Take a reading."""
        rss: dict[str, int] = {}
        for name, pid in self._roots().items():
            try:
                root = psutil.Process(pid)
                for process in [root, *root.children(recursive=True)]:
                    self._note(process, name, rss)
            except psutil.NoSuchProcess:
                continue
        totals: dict[str, float] = {}
        for label, spent_s in self._spent.values():
            totals[label] = totals.get(label, 0.0) + spent_s
        self.used.cpu_s = {label: spent_s - self._before.get(label, 0.0) for label, spent_s in totals.items()}
        for label, size in rss.items():
            self.used.peak_rss[label] = max(self.used.peak_rss.get(label, 0), size)
        self.used.peak_total_rss = max(self.used.peak_total_rss, sum(rss.values()))

    def _note(self, process: psutil.Process, root: str, rss: dict[str, int]) -> None:
        try:
            label = _label(" ".join(process.cmdline()), root)
            times = process.cpu_times()
            self._spent[process.pid, process.create_time()] = (label, times.user + times.system)
            rss[label] = rss.get(label, 0) + process.memory_info().rss
        except psutil.Error:
            return

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Reads every second, and once at the end."""
        task = asyncio.create_task(self._on_and_on())
        try:
            yield
        finally:
            task.cancel()
            self.read()

    async def _on_and_on(self) -> None:
        while True:
            await asyncio.to_thread(self.read)
            await asyncio.sleep(EVERY_S)


def _label(command: str, root: str) -> str:
    for word, label in ENGINES.items():
        if word in command:
            return label
    return root.partition("-")[0]
