"""Keeps the figures of this process: partitions are looked at now and then, the event loop all the time."""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from odradek.clock import now_ms
from odradek_scheduler import metrics
from odradek_scheduler.core.figures import Figures
from odradek_scheduler.owned import Owned
from odradek_scheduler.store import TablesClosed

LOOK_EVERY_S: Final = 5.0
COST: Final = 0.01
"""Share of the time that looking may take."""
TICK_S: Final = 0.05


async def keep_figures(owned: Iterable[Owned]) -> None:
    """Look at every partition now and then, until cancelled."""
    while True:
        began = time.monotonic()
        total, dispatching, count = Figures(), 0, 0
        for count, each in enumerate(owned, 1):  # noqa: B007  (the last number is the result)
            total += await _counted(each)
            dispatching += each.core.dispatching
            await asyncio.sleep(0)
        metrics.PARTITIONS.set(count)
        metrics.DISPATCHING.set(dispatching)
        for name, gauge in metrics.FIGURES.items():
            gauge.set(getattr(total, name))
        await asyncio.sleep(max(LOOK_EVERY_S, (time.monotonic() - began) / COST))


async def _counted(owned: Owned) -> Figures:
    """One partition, other work going on in between; nothing of one that is taken away meanwhile."""
    counting = owned.core.counting(now_ms())
    try:
        while owned.kept:
            next(counting)
            await asyncio.sleep(0)
    except StopIteration as end:
        figures: Figures = end.value
        return figures
    except TablesClosed:
        pass
    return Figures()


async def watch_loop() -> None:
    """Measure how late the event loop is, until cancelled."""
    longest_s = 0.0
    while True:
        due = time.monotonic() + TICK_S
        await asyncio.sleep(TICK_S)
        late_s = time.monotonic() - due
        metrics.LAG.observe(late_s)
        if late_s > longest_s:
            longest_s = late_s
            metrics.LONGEST_LAG.set(late_s)
