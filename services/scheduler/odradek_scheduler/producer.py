"""Faust's producer, on librdkafka: a flush ends when Kafka has acknowledged everything, or it raises.

Faust's own producer cannot carry rule B. Its buffer's flush gives up after 0.1 s without progress and its send errors
are only logged, and in both cases the offsets are committed all the same (faust/transport/producer.py, `flush_atmost`;
faust/topics.py, `_on_published`). It is also ten times slower per message.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import confluent_kafka
from faust.transport import producer as faust_producer
from faust.types.tuples import TP

from odradek.contracts import schema_header
from odradek.errors import InfrastructureAway
from odradek.kafka.client import producer_config
from odradek.kafka.records import Send
from odradek.settings import Settings

POLL_S: Final = 0.005
FLUSH_POLL_S: Final = 0.002
CHANGELOG_LINGER_MS: Final = 50
"""Nobody reads changelogs but a successor, and only a flush waits for them, a few times a second: in requests of their
own they would take the broker more than all else that the scheduler says."""
EBB_MESSAGES: Final = 20_000
"""Above so many unacknowledged messages the log is not read on."""

Headers = list[tuple[str, str | bytes | None]]
Acknowledged = Callable[[Mapping[tuple[str, int], int]], None]
_SCHEMA: Final = schema_header()


class _Epoch:
    """Messages between two flushes: a flush waits for those before it only."""

    __slots__ = ("_tally", "left", "offsets")

    def __init__(self, tally: "_Tally") -> None:
        self._tally = tally
        self.left = 0
        self.offsets: dict[tuple[str, int], int] = {}
        """Newest acknowledged offset of each changelog partition."""

    def delivered(self, error: Any, _message: Any) -> None:
        """Kafka's answer to a message."""
        self.left -= 1
        self._tally.outstanding -= 1
        if error is not None:
            self._tally.failure = error.str()

    def changelog_delivered(self, error: Any, message: Any) -> None:
        """Kafka's answer to a changelog record."""
        self.delivered(error, message)
        if error is None and message.offset() is not None:  # of what it has twice Kafka does not say where it is
            self.offsets[message.topic(), message.partition()] = message.offset()


class _Tally:
    """What is under way, over all epochs."""

    __slots__ = ("failure", "outstanding")

    def __init__(self) -> None:
        self.outstanding = 0
        self.failure: str | None = None


class _Ebb(faust_producer.ProducerBuffer):
    """What the conductor asks before it hands on a record: nothing waits in Faust's own buffer."""

    outstanding: Callable[[], int] = staticmethod(lambda: 0)

    async def wait_until_ebb(self) -> None:
        """Wait while too much is unacknowledged."""
        while self.outstanding() > EBB_MESSAGES:  # noqa: ASYNC110  (librdkafka tells only who polls)
            await asyncio.sleep(POLL_S)


class AcknowledgedProducer(faust_producer.Producer):
    """The one producer of the process. Everything is produced at once and told apart by flushes."""

    def __init__(self, transport: Any, *, settings: Settings, acknowledged: Acknowledged, **kwargs: Any) -> None:
        super().__init__(transport, **kwargs)
        self._settings = settings
        self._acknowledged = acknowledged
        self._kafka = confluent_kafka.Producer(_config(settings, linger_ms=1))
        self._changelogs = confluent_kafka.Producer(_config(settings, linger_ms=CHANGELOG_LINGER_MS))
        self._tally = _Tally()
        self._epoch = _Epoch(self._tally)
        self._epochs = [self._epoch]
        self._sent = asyncio.Event()
        self.buffer = _Ebb(loop=self.loop, beacon=self.beacon)
        self.buffer.app = self.app
        self.buffer.outstanding = self.outstanding

    async def on_start(self) -> None:
        """Begin to collect delivery reports."""
        await super().on_start()
        self.add_future(self._collect())

    async def on_stop(self) -> None:
        """Send what is left, for a short while."""
        for kafka in (self._kafka, self._changelogs):
            kafka.flush(1.0)

    def outstanding(self) -> int:
        """Messages that Kafka has not acknowledged."""
        return self._tally.outstanding

    def produce(
        self,
        topic: str,
        partition: int,
        key: bytes,
        value: bytes | None,
        headers: Headers | None = None,
        *,
        changelog: bool = False,
    ) -> None:
        """Hand one message to librdkafka; `topic` is the full name. What it refuses at once fails the next flush."""
        epoch = self._epoch
        told, kafka = (epoch.changelog_delivered, self._changelogs) if changelog else (epoch.delivered, self._kafka)
        try:
            kafka.produce(topic, value=value, key=key, partition=partition, headers=headers, on_delivery=told)
        except confluent_kafka.KafkaException as error:
            self._tally.failure = error.args[0].str()
            return
        epoch.left += 1
        self._tally.outstanding += 1
        if not self._sent.is_set():
            self._sent.set()

    def send_all(self, sends: Sequence[Send]) -> None:
        """Produce messages whose partition is set; their topics are names without prefix."""
        for send in sends:
            if send.partition is None:
                raise ValueError(f"no partition for a message to {send.topic}")
            headers: Headers = [_SCHEMA, *send.headers]
            self.produce(self._settings.topic(send.topic), send.partition, send.key.encode(), send.value, headers)

    async def flush(self) -> None:
        """Wait until everything produced before is acknowledged.

        Raises:
            InfrastructureAway: Kafka did not take a message in time; nothing may be committed any more.
        """
        waited = self._epochs
        self._epoch = _Epoch(self._tally)
        self._epochs = [*waited, self._epoch]
        while any(epoch.left for epoch in waited) and self._tally.failure is None:
            self._poll()
            await asyncio.sleep(FLUSH_POLL_S)
        if self._tally.failure is not None:
            raise InfrastructureAway(f"Kafka refused a message: {self._tally.failure}")
        offsets: dict[tuple[str, int], int] = {}
        for epoch in waited:
            offsets |= epoch.offsets
            epoch.offsets = {}
        self._epochs = [epoch for epoch in self._epochs if epoch not in waited]
        if offsets:
            self._acknowledged(offsets)

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing is sent through Faust's channels.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    def key_partition(self, topic: str, key: bytes) -> TP:
        """Nothing here is partitioned by Faust.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    def supports_headers(self) -> bool:
        """Every broker that is supported has headers."""
        return True

    async def create_topic(self, *args: Any, **kwargs: Any) -> None:
        """Topics exist before a worker starts."""

    async def _collect(self) -> None:
        while not self.should_stop:
            if not self.outstanding():
                self._sent.clear()
                await self._sent.wait()
            self._poll()
            await asyncio.sleep(POLL_S)

    def _poll(self) -> None:
        self._kafka.poll(0)
        self._changelogs.poll(0)


def _config(settings: Settings, *, linger_ms: int) -> dict[str, Any]:
    """A request is given up before the group takes this process for dead, so its sends end before a successor's."""
    timeout_ms = int(settings.session_timeout * 800)
    return producer_config(settings) | {
        "linger.ms": linger_ms,
        "request.timeout.ms": timeout_ms,
        "socket.timeout.ms": timeout_ms,
    }
