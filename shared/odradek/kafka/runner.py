"""The one loop of fetcher, parser and indexer: poll, handle, send stage after stage, commit (rule E).

A handler returns what is to be sent and never sends or commits by itself. A record counts as finished when Kafka has
acknowledged every stage of it; the low-water mark of finished records is committed. A handler that raises
`InfrastructureAway` is asked again, with back-off; any other exception is a bug and ends the process.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import TypeVar

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from odradek.clock import now_ms
from odradek.errors import InfrastructureAway
from odradek.kafka.deadletter import dead_letter, within_limit
from odradek.kafka.gaps import gap_event
from odradek.kafka.intake import Intake
from odradek.kafka.metrics import RUNNERS
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Done, Poison, Record, Send, ToFrontier
from odradek.kafka.tenure import Tenure
from odradek.kafka.window import Gap, Window
from odradek.settings import Settings

__all__ = ["HandleMany", "HandleOne", "Result", "Runner", "Window"]

log = structlog.get_logger()

T = TypeVar("T")
Result = Done | Poison
HandleOne = Callable[[Record], Awaitable[Result]]
HandleMany = Callable[[Sequence[Record]], Awaitable[Sequence[Result]]]
Work = Callable[[], Awaitable[None]]

ROUND = 500
"""Most results that are settled together."""
LEAVE_S = 5.0
TOGETHER_S = 0.025
"""How long a result waits at most for others to be settled with it: each round costs Kafka the same."""
SHARE = 4
"""A round that is a quarter of what is in hand waits for nobody: where little goes on, others are long in coming."""
COMPANY_S = 0.1
"""How often a batch that waits for company looks whether it is full, or whether nobody comes any more."""


class Runner:
    """Runs one handler over one topic until `stop` is set. Made and used on the event loop that runs it."""

    def __init__(
        self,
        settings: Settings,
        service: str,
        topic: str,
        producer: StageProducer,
        window: Window,
        *,
        group: str | None = None,
        tenure: Tenure | None = None,
    ) -> None:
        """`group`: without prefix; None: named as the service. `tenure`: for work that two must not do at once."""
        self.service = service
        self.topic = topic
        self.producer = producer
        self.finished = 0
        """Records settled so far."""
        self.dead_letters = 0
        """Of these, poison."""
        self.away: str | None = None
        """What the handler is waiting for, in the engine's own words; None: nothing."""
        self._inbox: asyncio.Queue[Record] = asyncio.Queue()
        self._results: deque[Result] = deque()
        self._due = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._gaps: deque[Send] = deque()
        self.intake = Intake(settings, group or service, topic, window, self._deliver, tenure=tenure)
        self.intake.gap = partial(self._gap, asyncio.get_running_loop(), settings.topic(topic))
        RUNNERS.add(self)

    @property
    def ready(self) -> bool:
        """True once the group has said which partitions are ours."""
        return self.intake.assigned

    @property
    def in_hand(self) -> int:
        """Records read and not finished."""
        return self.intake.in_hand

    def lag(self) -> dict[int, int]:
        """Records not yet finished in each partition of ours, as of a second ago."""
        return self.intake.lag()

    async def run_each(self, handle: HandleOne, stop: asyncio.Event, concurrency: int) -> None:
        """Handle records one by one, `concurrency` at a time, in whatever order they finish."""

        async def work() -> None:
            while True:
                record = await self._inbox.get()
                if self.intake.hand.begin(record):
                    structlog.contextvars.bind_contextvars(partition=record.partition, offset=record.offset)
                    self._settle_soon([await self._insist(lambda record=record: handle(record))])  # type: ignore[misc]  # mypy types no default of a lambda

        structlog.contextvars.bind_contextvars(topic=self.topic)
        await self._run([work] * concurrency, stop)

    async def run_batches(
        self,
        handle: HandleMany,
        stop: asyncio.Event,
        max_records: int,
        max_wait_s: float = 0.0,
        alone_s: float = math.inf,
    ) -> None:
        """Handle records in batches: what is there, at most `max_records`, after at most `max_wait_s` for company.

        When none came for `alone_s`, no more are waited for. A full window is not waited in: what is there is handled.
        """

        async def work() -> None:
            while True:
                batch = await self._batch(max_records, max_wait_s, alone_s)
                if batch:
                    self._settle_soon(await self._insist(lambda batch=batch: handle(batch)))  # type: ignore[misc]  # mypy types no default of a lambda
                    await asyncio.sleep(0)

        structlog.contextvars.bind_contextvars(topic=self.topic)
        await self._run([work], stop)

    async def _batch(self, max_records: int, max_wait_s: float, alone_s: float) -> list[Record]:
        records = [await self._inbox.get()]
        waiting, last = self._inbox.qsize(), monotonic()
        deadline = last + max_wait_s
        while waiting < max_records - 1 and self.intake.hand.free() > 0 and monotonic() < min(deadline, last + alone_s):
            await asyncio.sleep(COMPANY_S)
            if self._inbox.qsize() > waiting:
                waiting, last = self._inbox.qsize(), monotonic()
        while len(records) < max_records and not self._inbox.empty():
            records.append(self._inbox.get_nowait())
        return self.intake.hand.begin_all(records)

    def _deliver(self, records: list[Record]) -> None:
        for record in records:
            self._inbox.put_nowait(record)

    async def _run(self, works: Sequence[Work], stop: asyncio.Event) -> None:
        """Until the group is left: because of `stop`, because the consumer failed, or because a handler crashed."""
        tasks = [asyncio.ensure_future(work()) for work in (*works, self._settle)]
        stopping = asyncio.ensure_future(stop.wait())
        left = asyncio.ensure_future(self.intake.left())
        self.intake.start()
        try:
            ended, _ = await asyncio.wait({stopping, left, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            if stopping in ended:
                self.intake.stop()
                ended, _ = await asyncio.wait({left, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self.intake.abandon()
            for task in (stopping, *tasks):
                task.cancel()
            await asyncio.gather(stopping, *tasks, return_exceptions=True)
            await asyncio.wait({left}, timeout=LEAVE_S)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until the engines answer; what they said meanwhile stands in `away`."""
        try:
            return await ask()
        except InfrastructureAway as error:
            self._note_away(str(error), 1)
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(InfrastructureAway),
            wait=wait_random_exponential(multiplier=0.2, max=10),
            before_sleep=self._asked_again,
        ):
            with attempt:
                answer = await ask()
        self.away = None
        return answer

    def _asked_again(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self._note_away(str(error), state.attempt_number + 1)

    def _note_away(self, error: str, attempt: int) -> None:
        self.away = error
        log.warning("infrastructure_away", service=self.service, attempt=attempt, error=error)

    def _settle_soon(self, results: Sequence[Result]) -> None:
        self._results.extend(results)
        self._arrange()

    def _arrange(self) -> None:
        """A round begins when there is company enough, else soon."""
        if len(self._results) >= min(ROUND, self.intake.in_hand / SHARE):
            self._ring()
        elif self._results and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(TOGETHER_S, self._ring)

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._due.set()

    async def _settle(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            while self._gaps:
                await self._send([self._gaps.popleft()], [])
            results = [self._results.popleft() for _ in range(min(ROUND, len(self._results)))]
            await self._send_stages(results)
            self.intake.hand.finish([result.record for result in results])
            self.finished += len(results)
            if self._results:
                self._arrange()

    def _gap(self, loop: asyncio.AbstractEventLoop, topic: str, gap: Gap) -> None:
        """In the consumer's thread: what retention cut off is a crawl event."""
        self._gaps.append(gap_event(self.service, topic, gap, now_ms()))
        loop.call_soon_threadsafe(self._due.set)

    async def _send_stages(self, results: list[Result]) -> None:
        for number in range(max((len(result.stages) for result in results), default=0)):
            staged = [(result.record, result.stages[number]) for result in results if number < len(result.stages)]
            await self._send(
                [within_limit(send, record, self.service) for record, stage in staged for send in stage.sends],
                [fact for _, stage in staged for fact in stage.facts],
            )
            for _, stage in staged:
                if stage.acknowledged is not None:
                    stage.acknowledged()
        poison = [result for result in results if isinstance(result, Poison)]
        if poison:
            await self._send([self._buried(each) for each in poison], [])
            self.dead_letters += len(poison)

    async def _send(self, sends: list[Send], facts: list[ToFrontier]) -> None:
        await self._insist(lambda: self.producer.send(sends, facts))

    def _buried(self, poison: Poison) -> Send:
        at = poison.record
        log.warning(
            "dead_letter",
            topic=at.topic,
            partition=at.partition,
            offset=at.offset,
            reason=poison.reason,
            error=poison.error,
        )
        return dead_letter(poison, self.service)
