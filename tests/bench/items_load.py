"""What the bench of items sends, and the indexer as the process that is measured."""

import os
import signal
import subprocess
import sys
from typing import Any

import psutil

from odradek.contracts import EcsEvent, EcsService, EcsUrl, Item, LogEvent, OdradekFields
from odradek.runtime.supervisor import tethered
from odradek_parser.core.items import item_id

AT_MS = 1_790_000_000_000


class Indexer:
    """The service as a process, with its processor time and memory through all its lives."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = {**os.environ, **env}
        self.peak_rss = 0
        self.cpu_s = 0.0
        self._before_s = self._starting_s = 0.0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "odradek", "service", "indexer"]
        self._process = subprocess.Popen(tethered(command), env=self._env)
        self._seen = psutil.Process(self._process.pid)

    def look(self) -> None:
        times = self._seen.cpu_times()
        self.cpu_s = self._before_s + times.user + times.system
        self.peak_rss = max(self.peak_rss, self._seen.memory_info().rss)

    def begun(self) -> None:
        """What it took so far was its start."""
        self.look()
        self._starting_s = self.cpu_s

    def cpu_us(self, records: int) -> float:
        """Processor time for each of so many records, without the start of the first of its lives."""
        return (self.cpu_s - self._starting_s) / records * 1e6

    def kill(self) -> None:
        self.look()
        self._before_s = self.cpu_s
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self.look()
        self._process.terminate()
        self._process.wait(30)


def an_id(job: str, number: int) -> str:
    """As the parser makes them: items are stored in no order of their ids."""
    return item_id(job, "book", (str(number),))


def an_item(job: str, number: int) -> Item:
    """About 600 bytes: texts, a decimal, a list, something nested."""
    data: dict[str, Any] = {
        "title": f"Book {number} — ein Buch",
        "price": f"{number % 10_000}.{number % 100:02d}",
        "stock": number % 50,
        "tags": ["fiction", f"shelf-{number % 97}"],
        "maker": {"name": f"Maker {number % 1000}", "rating": (number % 50) / 10, "notes": None},
        "text": "x" * 120,
    }
    return Item(
        id=an_id(job, number),
        job=job,
        type="book",
        url=f"https://books.example/catalogue/{number}.html",
        data=data,
        meta={"shop": "north"},
        key=(str(number),),
        fetched_at_ms=AT_MS + number,
        content_hash=f"{number:032x}",
    )


def an_event(job: str, number: int) -> LogEvent:
    """A fetch that went well."""
    return LogEvent(
        timestamp="2026-11-30T00:00:00.000Z",
        event=EcsEvent(id=f"{job}-{number}", action="fetch", outcome="success", duration=120_000_000),
        service=EcsService(name="fetcher"),
        odradek=OdradekFields(job_id=job, fingerprint=f"{number:032x}", outcome="fetched"),
        url=EcsUrl(full=f"https://books.example/catalogue/{number}.html", domain="books.example"),
        message="200 in 120 ms",
    )
