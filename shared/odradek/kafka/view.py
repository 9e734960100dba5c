"""A compacted topic as a dictionary: read from the beginning in a thread, the newest value of each key kept."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.settings import Settings

M = TypeVar("M")
log = structlog.get_logger()


class View(Generic[M]):
    """The newest value of every key of a compacted topic, kept up to date until `stop`.

    `parse` turns key and value into what the view holds; a record it refuses with ValueError is logged and left out.
    """

    def __init__(self, settings: Settings, topic: str, parse: Callable[[str, bytes], M]) -> None:
        self._settings = settings
        self._topic = settings.topic(topic)
        self._parse = parse
        self._values: dict[str, M] = {}
        self._lock = Lock()
        self._listeners: list[Callable[[str, M | None], None]] = []
        self._stopping = Event()
        self._ready = Event()
        self._thread = Thread(target=self._run, name=f"view-{topic}", daemon=True)

    def on_change(self, listener: Callable[[str, M | None], None]) -> None:
        """Call `listener(key, value)` from the view's thread for each change; None: the key is gone."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    @property
    def ready(self) -> bool:
        """True once everything that was in the topic at the start has been read."""
        return self._ready.is_set()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until `ready`; False when the time is over first."""
        return self._ready.wait(timeout_s)

    def get(self, key: str) -> M | None:
        """The newest value of a key."""
        return self._values.get(key)

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
        consumer = Consumer(config | {"partition.assignment.strategy": "range"})
        try:
            ends = self._assign(consumer)
            while not self._stopping.is_set():
                for message in consumer.consume(500, timeout=0.05):
                    error = message.error()
                    if error is not None:
                        log.warning("view_error", topic=self._topic, error=error.str())
                        continue
                    self._take(message)
                if not self._ready.is_set() and _reached(consumer, ends):
                    self._ready.set()
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer) -> dict[int, int]:
        while not self._stopping.is_set():
            try:
                found = consumer.list_topics(self._topic, timeout=5).topics[self._topic]
                if found.error is None and found.partitions:
                    parts = [TopicPartition(self._topic, partition, 0) for partition in found.partitions]
                    ends = {part.partition: consumer.get_watermark_offsets(part, timeout=5)[1] for part in parts}
                    consumer.assign(parts)
                    return ends
                log.warning("view_waits_for_topic", topic=self._topic)
            except KafkaException as error:
                log.warning("view_waits_for_kafka", topic=self._topic, error=str(error))
            self._stopping.wait(0.5)
        return {}

    def _take(self, message: Any) -> None:
        key, raw = (message.key() or b"").decode(), message.value()
        value: M | None = None
        if raw is not None:
            try:
                value = self._parse(key, raw)
            except ValueError as error:
                log.warning("view_refused", topic=self._topic, offset=message.offset(), error=str(error))
                return
        with self._lock:
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        for listener in self._listeners:
            listener(key, value)


def _reached(consumer: Consumer, ends: dict[int, int]) -> bool:
    waiting = [TopicPartition(part.topic, part.partition) for part in consumer.assignment() if ends[part.partition] > 0]
    return all(part.offset >= ends[part.partition] for part in consumer.position(waiting)) if waiting else True
