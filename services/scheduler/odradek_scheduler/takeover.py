"""Take-over: a partition dispatches only when its predecessor's requests are answered, or past their lease (rule H)."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, ParamSpec, TypeVar

import structlog

from odradek.clock import now_ms
from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.runtime.lifecycle import calm_collector
from odradek.topics import FRONTIER, PAGES, SCHEDULED
from odradek_scheduler import metrics
from odradek_scheduler.owned import Owned
from odradek_scheduler.settings import BARRIER_EVERY_S, DEFAULT_LEASE_S, SERVICE
from odradek_scheduler.store import TablesClosed

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")


class Positions(NamedTuple):
    """Of the frontier's log, by partition."""

    committed: dict[int, int]
    ends: dict[int, int]


class TakeOver:
    """Leads newly owned partitions from `load` to `release`."""

    def __init__(self, ends: Ends, released: Callable[[], None]) -> None:
        self._ends = ends
        self._released = released
        self._barriers: dict[asyncio.Task[None], Sequence[Owned]] = {}
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set when a take-over could not go on: a bug; its partitions would rest for ever, the process must end."""
        self._caught_up = asyncio.Event()

    async def positions(self) -> Positions:
        """Where the log goes on and where it ends now; asked before `begin`, which may not wait."""
        return await _answer(self._positions)

    def begin(self, new: Sequence[Owned], positions: Positions) -> None:
        """Tell partitions where their log goes on and where it ends; the rest of the barrier runs on its own."""
        self._caught_up.set()  # one that is waited for may have gone elsewhere
        if not new:
            return
        for owned in new:
            owned.core.resume_at(positions.committed.get(owned.number, 0))
            owned.core.catch_up_to(positions.ends[owned.number])
        task = asyncio.create_task(self._barrier(new), name="take-over")
        self._barriers[task] = new
        task.add_done_callback(self._ended)

    def lacks(self, owned: Owned) -> bool:
        """True if nobody leads the partition to its release."""
        return not owned.core.released and all(owned not in new for new in self._barriers.values())

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._barriers[task]
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.failure.done():
            self.failure.set_exception(error)

    def folded(self) -> None:
        """A batch has been folded; a partition may have caught up."""
        self._caught_up.set()

    @property
    def running(self) -> bool:
        """True while a partition waits for its release."""
        return bool(self._barriers)

    def _positions(self) -> Positions:
        return Positions(self._ends.committed(SERVICE, FRONTIER), self._ends.end_offsets(FRONTIER))

    async def _barrier(self, new: Sequence[Owned]) -> None:
        began = time.monotonic()
        deadline = began + max([DEFAULT_LEASE_S, *map(_lease_s, new)])
        await self._passed("fetcher", SCHEDULED, deadline)
        await self._passed("parser", PAGES, deadline)
        ends = await _answer(self._ends.end_offsets, FRONTIER)
        for owned in new:
            owned.core.catch_up_to(ends[owned.number])
        for owned in new:
            await self._release(owned)
        calm_collector()  # what was built stays, and looking through it takes long
        log.info("taken_over", partitions=[each.number for each in new], seconds=round(time.monotonic() - began, 3))

    async def _passed(self, service: str, topic: str, deadline: float) -> None:
        """Wait until a service has committed what the topic holds now, at most until the deadline."""
        ends = await _answer(self._ends.end_offsets, topic)
        if not any(ends.values()):
            return
        while not await _answer(self._ends.passed, service, topic, ends):
            if time.monotonic() > deadline:
                log.warning("barrier_past_lease", service=service, topic=topic)
                return
            await asyncio.sleep(BARRIER_EVERY_S)

    async def _release(self, owned: Owned) -> None:
        while owned.kept and owned.core.recovering:
            self._caught_up.clear()
            await self._caught_up.wait()
        began = time.monotonic()
        try:
            pages, longest_s = await self._built(owned)
        except TablesClosed:
            return
        if not owned.kept:
            return
        self._released()
        took_s = time.monotonic() - began
        metrics.TAKE_OVER.observe(took_s)
        log.info(
            "partition_taken_over", partition=owned.number, pages=pages, seconds=round(took_s, 3),
            longest_step_ms=round(longest_s * 1000),
        )  # fmt: skip

    async def _built(self, owned: Owned) -> tuple[int, float]:
        """Build the memory in steps, everything else going on in between: pages read, and the longest step."""
        pages, longest_s, began = 0, 0.0, time.monotonic()
        for pages in owned.core.releasing(now_ms()):  # noqa: B007  (the last number is the result)
            longest_s = max(longest_s, time.monotonic() - began)
            await asyncio.sleep(0)
            if not owned.kept:
                break
            began = time.monotonic()
        return pages, max(longest_s, time.monotonic() - began)


def _lease_s(owned: Owned) -> float:
    """How long its predecessor's requests may live; 0 once it has gone elsewhere."""
    try:
        return owned.core.longest_lease_ms() / 1000
    except TablesClosed:
        return 0.0


async def _answer(ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the brokers say to a question, asked again while they are away: nobody else would ever release these."""
    while True:
        try:
            return await asyncio.to_thread(ask, *args, **kwargs)
        except InfrastructureAway as error:
            log.warning("take_over_waits", error=str(error))
            await asyncio.sleep(BARRIER_EVERY_S)
