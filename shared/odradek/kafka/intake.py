"""The consumer in its one thread: polls, pauses when the window is full, commits what it is told, drains on revoke."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.kafka.offsets import OffsetTracker
from odradek.kafka.records import Record
from odradek.settings import Settings

log = structlog.get_logger()

POLL_S = 0.05
PATIENCE_S = 0.5
"""How long a full window is waited for before the partitions are paused (pausing throws prefetched records away)."""


@dataclass(frozen=True, slots=True)
class Window:
    """What may be in hand at once: read from Kafka and not yet finished."""

    records: int
    size_bytes: int = 64 * 1024 * 1024


class Intake:
    """Feeds records to `deliver` on the event loop and commits low-water marks.

    Rebalances are cooperative. A partition that is taken away is finished first, within the drain time; records of
    it that nobody has begun are forgotten, and their next owner reads them.
    """

    def __init__(
        self,
        settings: Settings,
        service: str,
        topic: str,
        window: Window,
        deliver: Callable[[list[Record]], None],
        config: dict[str, Any] | None = None,
    ) -> None:
        self._settings, self._window, self._deliver = settings, window, deliver
        self._topic = settings.topic(topic)
        self._config = consumer_config(settings, settings.group(service)) | (config or {})
        self._trackers: dict[int, OffsetTracker] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._bytes = 0
        self._changed = Condition()
        self._dirty = False
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._thread = Thread(target=self._main, name=f"intake-{topic}", daemon=True)
        self.assigned = False
        self.gap: Callable[[str, int, int, int], None] = lambda *_: None
        """Called with topic, partition, first missing offset and where reading goes on."""

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def wanted(self, record: Record) -> bool:
        """True while the record's partition is ours and the record is not finished."""
        with self._changed:
            return (record.partition, record.offset) in self._sizes

    def finish(self, records: list[Record]) -> None:
        """These are done and acknowledged: their offsets may be committed."""
        with self._changed:
            for record in records:
                size = self._sizes.pop((record.partition, record.offset), None)
                if size is not None:
                    self._bytes -= size
                    self._trackers[record.partition].finish(record.offset)
            self._dirty = True
            self._changed.notify_all()

    @property
    def in_hand(self) -> int:
        """Records read and not finished."""
        return len(self._sizes)

    def stop(self) -> None:
        """Read no more; finish what is in hand within the drain time, commit, leave the group."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    async def stopped(self) -> None:
        """Wait until the group has been left; raises what ended the thread."""
        await self._done

    def _main(self) -> None:
        error: BaseException | None = None
        consumer = Consumer(self._config)
        try:
            consumer.subscribe([self._topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)
            while not self._stopping:
                self._turn(consumer)
            self._drain(consumer, set(self._trackers))
        except BaseException as crash:  # noqa: BLE001  (handed to the loop, which raises it)
            error = crash
        finally:
            consumer.close()
            self._loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: BaseException | None) -> None:
        if not self._done.done():
            self._done.set_exception(error) if error is not None else self._done.set_result(None)

    def _turn(self, consumer: Consumer) -> None:
        self._commit(consumer)
        room = self._room(PATIENCE_S)
        if room > 0:
            self._take(consumer, consumer.consume(min(room, 500), timeout=POLL_S))
            return
        consumer.pause(consumer.assignment())
        while not self._stopping and self._room(0) < max(1, self._window.records // 2):
            self._take(consumer, consumer.consume(1, timeout=POLL_S))
            self._commit(consumer)
        consumer.resume(consumer.assignment())

    def _room(self, patience_s: float) -> int:
        with self._changed:
            if self._free() <= 0 and patience_s:
                self._changed.wait_for(lambda: self._free() > 0 or self._stopping, timeout=patience_s)
            return self._free()

    def _free(self) -> int:
        return self._window.records - len(self._sizes) if self._bytes < self._window.size_bytes else 0

    def _take(self, consumer: Consumer, messages: list[Message]) -> None:
        records = []
        for message in messages:
            error = message.error()
            if error is None:
                records.append(_record(message))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001  (its only name)
                self._report_gap(consumer, message)
            elif error.fatal():
                raise KafkaException(error)
            else:
                log.warning("consumer_error", topic=self._topic, error=error.str())
        if records:
            self._begin(records)
            self._loop.call_soon_threadsafe(self._deliver, records)

    def _report_gap(self, consumer: Consumer, message: Message) -> None:
        partition = message.partition()
        if partition is not None:
            low, _ = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=5)
            self.gap(self._topic, partition, message.offset() or 0, low)

    def _begin(self, records: list[Record]) -> None:
        with self._changed:
            for record in records:
                self._trackers.setdefault(record.partition, OffsetTracker()).start(record.offset)
                size = len(record.value or b"")
                self._sizes[(record.partition, record.offset)] = size
                self._bytes += size

    def _commit(self, consumer: Consumer, *, wait: bool = False) -> None:
        with self._changed:
            if not self._dirty:
                return
            self._dirty = False
            marks = {part: mark for part, each in self._trackers.items() if (mark := each.committable()) is not None}
            for partition, mark in marks.items():
                self._trackers[partition].committed(mark)
        if marks:
            offsets = [TopicPartition(self._topic, partition, mark) for partition, mark in marks.items()]
            try:
                if wait:
                    consumer.commit(offsets=offsets, asynchronous=False)
                else:
                    consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                log.warning("commit_refused", topic=self._topic, error=str(error))

    def _drain(self, consumer: Consumer, partitions: set[int]) -> None:
        deadline = time.monotonic() + self._settings.drain
        with self._changed:
            left = deadline - time.monotonic()
            self._changed.wait_for(lambda: not any(part in partitions for part, _ in self._sizes), timeout=left)
        self._commit(consumer, wait=True)

    def _assign(self, _consumer: Consumer, parts: list[TopicPartition]) -> None:
        log.info("partitions_assigned", topic=self._topic, partitions=[part.partition for part in parts])
        self.assigned = True

    def _revoke(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        gone = {part.partition for part in parts}
        if gone:
            log.info("partitions_revoked", topic=self._topic, partitions=sorted(gone))
            self._drain(consumer, gone)
            self._forget(gone)

    def _lose(self, _consumer: Consumer, parts: list[TopicPartition]) -> None:
        gone = {part.partition for part in parts}
        log.warning("partitions_lost", topic=self._topic, partitions=sorted(gone))
        self._forget(gone)

    def _forget(self, partitions: set[int]) -> None:
        with self._changed:
            for place in [place for place in self._sizes if place[0] in partitions]:
                self._bytes -= self._sizes.pop(place)
            for partition in partitions:
                self._trackers.pop(partition, None)


def _record(message: Message) -> Record:
    headers: Any = message.headers() or ()
    return Record(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=tuple((name, value if value is not None else b"") for name, value in headers),
        timestamp_ms=message.timestamp()[1],
    )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
