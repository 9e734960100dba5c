"""The one loop of fetcher, parser and indexer: poll, handle, send stage after stage, commit (rule E).

A handler returns what is to be sent and never sends or commits by itself. A record counts as finished when Kafka has
acknowledged every stage of it; the low-water mark of finished records is committed. A handler that raises
`InfrastructureAway` is asked again, with back-off; any other exception is a bug and ends the process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from odradek.errors import InfrastructureAway
from odradek.kafka.deadletter import dead_letter
from odradek.kafka.intake import Intake, Window
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Poison, Record
from odradek.settings import Settings

log = structlog.get_logger()

T = TypeVar("T")
Result = Done | Poison
HandleOne = Callable[[Record], Awaitable[Result]]
HandleMany = Callable[[Sequence[Record]], Awaitable[Sequence[Result]]]

ROUND = 500
"""Most results that are settled together."""


class Runner:
    """Runs one handler over one topic until `stop` is set."""

    def __init__(self, settings: Settings, service: str, topic: str, producer: StageProducer, window: Window) -> None:
        self.service = service
        self.producer = producer
        self.finished = 0
        """Records settled so far."""
        self.away: str | None = None
        """What the handler is waiting for, in the engine's own words; None: nothing."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._inbox: asyncio.Queue[list[Record]] = asyncio.Queue()
        self._results: asyncio.Queue[Result] = asyncio.Queue()
        self.intake = Intake(settings, service, topic, window, self._inbox.put_nowait)

    async def run_each(self, handle: HandleOne, stop: asyncio.Event, concurrency: int) -> None:
        """Handle records one by one, many at a time, in whatever order they finish."""
        slots = asyncio.Semaphore(concurrency)

        async def one(record: Record) -> None:
            try:
                self._results.put_nowait(await self._insist(lambda: handle(record)))
            finally:
                slots.release()

        async def feed(group: asyncio.TaskGroup) -> None:
            while True:
                for record in await self._inbox.get():
                    await slots.acquire()
                    if self.intake.wanted(record):
                        task = group.create_task(one(record))
                        self._tasks.add(task)
                        task.add_done_callback(self._tasks.discard)
                    else:
                        slots.release()

        await self._run(feed, stop)

    async def run_batches(self, handle: HandleMany, stop: asyncio.Event, max_records: int) -> None:
        """Handle records in batches of what is there, at most `max_records`."""

        async def feed(_: asyncio.TaskGroup) -> None:
            while True:
                waiting = await self._inbox.get()
                while len(waiting) < max_records and not self._inbox.empty():
                    waiting = waiting + self._inbox.get_nowait()
                for start in range(0, len(waiting), max_records):
                    batch = [each for each in waiting[start : start + max_records] if self.intake.wanted(each)]
                    if batch:
                        results = await self._insist(lambda batch=batch: handle(batch))  # type: ignore[misc]  # a default
                        for result in results:
                            self._results.put_nowait(result)
                        await asyncio.sleep(0)

        await self._run(feed, stop)

    async def _run(self, feed: Callable[[asyncio.TaskGroup], Awaitable[None]], stop: asyncio.Event) -> None:
        self.intake.start()
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(self._forever(feed, group)), group.create_task(self._settle())]
            stopping = group.create_task(stop.wait())
            left = asyncio.ensure_future(self.intake.stopped())
            await asyncio.wait({stopping, left}, return_when=asyncio.FIRST_COMPLETED)
            self.intake.stop()
            await left
            for task in (stopping, *work, *self._tasks):
                task.cancel()

    @staticmethod
    async def _forever(feed: Callable[[asyncio.TaskGroup], Awaitable[None]], group: asyncio.TaskGroup) -> None:
        await feed(group)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until the engines answer; what they said meanwhile stands in `away`."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(InfrastructureAway),
            wait=wait_random_exponential(multiplier=0.2, max=10),
            before_sleep=self._note_away,
            reraise=True,
        ):
            with attempt:
                answer = await ask()
        self.away = None
        return answer

    def _note_away(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self.away = str(error)
        log.warning("infrastructure_away", service=self.service, attempt=state.attempt_number, error=self.away)

    async def _settle(self) -> None:
        while True:
            results = [await self._results.get()]
            while len(results) < ROUND and not self._results.empty():
                results.append(self._results.get_nowait())
            await self._insist(lambda results=results: self._send_stages(results))  # type: ignore[misc]  # a default
            self.intake.finish([result.record for result in results])
            self.finished += len(results)

    async def _send_stages(self, results: list[Result]) -> None:
        for number in range(max((len(result.stages) for result in results), default=0)):
            stages = [result.stages[number] for result in results if number < len(result.stages)]
            sends = [send for stage in stages for send in stage.sends]
            await self.producer.send(sends, [fact for stage in stages for fact in stage.facts])
            for stage in stages:
                if stage.acknowledged is not None:
                    stage.acknowledged()
        poison = [result for result in results if isinstance(result, Poison)]
        for each in poison:
            log.warning("dead_letter", topic=each.record.topic, partition=each.record.partition,
                        offset=each.record.offset, reason=each.reason, error=each.error)  # fmt: skip
        await self.producer.send([dead_letter(each, self.service) for each in poison])
