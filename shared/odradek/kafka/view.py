"""A compacted topic as a dictionary: read from the beginning in a thread, the newest value of each key kept."""

import os
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.settings import Settings

M = TypeVar("M")
log = structlog.get_logger()

CRASHED = 70
"""Exit code of a process whose view met a bug: it must not go on with what it no longer knows."""

POLL_S = 0.2
MOST = 1000


class View(Generic[M]):
    """The newest value of every key of a compacted topic, kept up to date until `stop`.

    `parse` turns key and value into what the view holds; a record it refuses with ValueError (as msgspec's
    errors are) is logged and left out. `supersedes(new, held)` False: the new value is an older one that came late.
    """

    def __init__(
        self,
        settings: Settings,
        topic: str,
        parse: Callable[[str, bytes], M],
        supersedes: Callable[[M, M], bool] = lambda _new, _held: True,
    ) -> None:
        self._settings = settings
        self._topic = settings.topic(topic)
        self._parse = parse
        self._supersedes = supersedes
        self._values: dict[str, M] = {}
        self._next: dict[int, int] = {}
        self._lock = Lock()
        self._listeners: list[Callable[[str, M | None], None]] = []
        self._stopping = Event()
        self._read_once = Event()
        self._thread = Thread(target=self._run, name=f"view-{topic}", daemon=True)

    def on_change(self, listener: Callable[[str, M | None], None]) -> None:
        """Call `listener(key, value)` from the view's thread for each change; None: the key is gone."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    @property
    def ready(self) -> bool:
        """True once the end of every partition has been seen."""
        return self._read_once.is_set()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until `ready`; False when the time is over first."""
        return self._read_once.wait(timeout_s)

    def get(self, key: str) -> M | None:
        """The newest value of a key."""
        return self._values.get(key)

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """True once all that lies before these offsets, by partition, has been read."""
        return all(self._next.get(partition, 0) >= end for partition, end in ends.items())

    def items(self) -> list[tuple[str, M]]:
        """A copy of what is held, in the order in which keys first came."""
        with self._lock:
            return list(self._values.items())

    def __len__(self) -> int:
        return len(self._values)

    def stop(self) -> None:
        """Stop reading; what is held stays."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        config = consumer_config(self._settings, f"{self._settings.topic_prefix}view")
        consumer = Consumer(config | {"partition.assignment.strategy": "range", "enable.partition.eof": True})
        try:
            self._read(consumer, self._assign(consumer))
        except Exception:
            log.exception("view_crashed", topic=self._topic)
            os._exit(CRASHED)
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, unread: set[int]) -> None:
        while not self._stopping.is_set():
            first = consumer.poll(POLL_S)
            for message in () if first is None else (first, *consumer.consume(MOST, 0)):
                error = message.error()
                if error is None:
                    self._take(message)
                    self._next[message.partition() or 0] = (message.offset() or 0) + 1
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  (its only name)
                    unread.discard(message.partition() or 0)
                    self._next[message.partition() or 0] = message.offset() or 0
                else:
                    log.warning("view_error", topic=self._topic, error=error.str())
            if not unread:
                self._read_once.set()

    def _assign(self, consumer: Consumer) -> set[int]:
        """Begin at the start of every partition, as soon as the topic is there; returns the partitions."""
        while not self._stopping.is_set():
            try:
                found = consumer.list_topics(self._topic, timeout=5).topics[self._topic]
                if found.error is None and found.partitions:
                    consumer.assign([TopicPartition(self._topic, part, OFFSET_BEGINNING) for part in found.partitions])
                    return set(found.partitions)
                log.warning("view_waits_for_topic", topic=self._topic)
            except KafkaException as error:
                log.warning("view_waits_for_kafka", topic=self._topic, error=str(error))
            self._stopping.wait(0.5)
        return set()

    def _take(self, message: Any) -> None:
        key, raw = (message.key() or b"").decode(errors="replace"), message.value()
        value: M | None = None
        if raw is not None:
            try:
                value = self._parse(key, raw)
            except ValueError as error:
                log.warning("view_refused", topic=self._topic, offset=message.offset(), error=str(error))
                return
        with self._lock:
            held = self._values.get(key)
            if value is None:
                self._values.pop(key, None)
            elif held is not None and not self._supersedes(value, held):
                return
            else:
                self._values[key] = value
        for listener in self._listeners:
            listener(key, value)
