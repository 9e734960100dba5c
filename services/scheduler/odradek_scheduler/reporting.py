"""What the scheduler tells: progress, only after a flush that covers it, and what is known of hosts."""

import asyncio
from typing import Final

from odradek.clock import now_ms
from odradek.contracts import Progress, encode
from odradek.kafka.records import Send
from odradek.topics import HOSTS, PROGRESS
from odradek_scheduler.outbox import Outbox
from odradek_scheduler.owned import Owned, Ownership
from odradek_scheduler.recounting import Recounts
from odradek_scheduler.settings import HOSTS_EVERY_S, REPORT_EVERY_S

LEAST_S: Final = 0.05
"""Between two reports, also when nothing is left to do."""
SOON_S: Final = 0.1
"""Between two looks while something waits to be recounted."""
MOST_S: Final = 1.0
"""Between two looks, also when nothing is folded."""


class Reporter:
    """Progress of changed jobs every 0.3 s, and at once when nothing is in flight any more."""

    def __init__(self, ownership: Ownership, outbox: Outbox) -> None:
        self._ownership = ownership
        self._outbox = outbox
        self._recounts = Recounts()
        self._folded = asyncio.Event()
        self._idle = asyncio.Event()

    def folded(self) -> None:
        """There is news."""
        self._folded.set()
        if not any(owned.core.outstanding for owned in self._ownership):
            self._idle.set()

    async def run(self) -> None:
        """Report progress for ever."""
        while True:
            if self._recounts.waiting:
                await asyncio.sleep(SOON_S)
            else:
                await _within(self._folded, MOST_S)
                await asyncio.sleep(LEAST_S)
                await _within(self._idle, REPORT_EVERY_S - LEAST_S)
            self._folded.clear()
            self._idle.clear()
            while await self._recounts.look(await self.report()):
                pass

    async def report(self) -> list[tuple[Owned, Progress]]:
        """One snapshot, a flush that covers it and all requests before it, then the reports; returns what it told."""
        now = now_ms()
        reports = [(owned, report) for owned in self._ownership for report in owned.core.progress(now)]
        if reports:
            await self._outbox.flush()
            self._outbox.send(
                Send(PROGRESS, f"{report.job}:{report.partition}", encode(report))
                for owned, report in reports
                if owned.kept
            )
        return reports

    async def run_hosts(self) -> None:
        """Report hosts for ever."""
        while True:
            await asyncio.sleep(HOSTS_EVERY_S)
            now = now_ms()
            for owned in self._ownership:
                if self._ownership.get(owned.number) is owned:  # it may be taken away while other work goes on
                    reports = owned.core.host_reports(now)
                    self._outbox.send(Send(HOSTS, report.key, encode(report)) for report in reports)
                await asyncio.sleep(0)


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so long; it is set afterwards in any case."""
    alarm = asyncio.get_running_loop().call_later(seconds, event.set)
    await event.wait()
    alarm.cancel()
