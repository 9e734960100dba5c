"""The consumer in its one thread: reads, pauses when the window is full, commits what is finished, drains on revoke."""

import asyncio
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from odradek.kafka.client import consumer_config
from odradek.kafka.inheritance import Inheritance
from odradek.kafka.membership import Membership
from odradek.kafka.records import Record, record_of
from odradek.kafka.tenure import Tenure
from odradek.kafka.window import Gap, InHand, Window
from odradek.settings import Settings

__all__ = ["Intake", "Window"]

log = structlog.get_logger()

POLL_S = 0.05
"""How soon it is noticed that something is finished and may be committed."""
IDLE_S = 0.25
"""The same while nothing is in hand; a message ends the wait at once."""
MOST = 500
"""Records handed over at once."""
PATIENCE_S = 0.5
"""How long a full window is waited for before partitions are paused: a pause throws prefetched records away."""
COMMIT_S = 0.5
"""Commits are so far apart while work goes on; each covers all that was finished meanwhile, and costs Kafka as much as
some pages do."""
QUIET_S = 0.1
"""When nothing has been in hand for so long, what was finished is committed: somebody may wait for it."""
REFUSED_S = 1.0
"""Wait after a commit that Kafka refused."""
LAG_S = 1.0
ASK_S = 5.0
PROOFS = 4
"""So often within a session timeout the group is asked to take a commit, if only to hear that we are its member."""


class Intake:
    """Feeds records to `deliver` on the event loop and commits low-water marks.

    Rebalances are cooperative. Of a partition that is taken away, what was begun is finished within the drain time
    and committed; what nobody has begun is left to the next owner. Of a partition that was lost nothing is committed.
    """

    def __init__(
        self,
        settings: Settings,
        group: str,
        topic: str,
        window: Window,
        deliver: Callable[[list[Record]], None],
        tenure: Tenure | None = None,
        membership: Membership | None = None,
    ) -> None:
        """`tenure`: told until when partitions are surely ours; then records say whether they are `inherited`."""
        self.hand = InHand(window)
        self.assigned = False
        """True once the group has said what is ours, be it nothing."""
        self.gap: Callable[[Gap], None] = lambda _: None
        """Called in the consumer's thread."""
        self._topic = settings.topic(topic)
        self._drain_s = settings.drain
        self._window, self._deliver = window, deliver
        self._config = consumer_config(settings, settings.group(group), window.fetch_wait_ms)
        self._config["on_commit"] = self._committed
        self._stopping = Event()
        self._deadline: float | None = None
        self._tenure = tenure
        self._asked_at: float | None = None
        """When the oldest commit without an answer was sent."""
        self._membership = membership or Membership()
        self._next_proof = 0.0
        self._inheritance = Inheritance(self._topic)
        self._next_commit = self._held_back_until = self._next_lag = 0.0
        self._lag: dict[int, int] = {}
        self._loop = asyncio.get_running_loop()
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._thread = Thread(target=self._main, name=f"intake-{topic}", daemon=True)

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; finish what was begun within the drain time, commit, leave the group."""
        if self._deadline is None:
            self._deadline = monotonic() + self._drain_s
        self.hand.close()
        self._stopping.set()

    def abandon(self) -> None:
        """Leave the group at once; what is in hand is left to the next owner."""
        self.hand.abandon()
        self.stop()

    async def left(self) -> None:
        """Wait until the group has been left; raises what ended the thread."""
        await asyncio.shield(self._left)

    @property
    def in_hand(self) -> int:
        """Records read and not finished."""
        return len(self.hand)

    def lag(self) -> dict[int, int]:
        """Records not yet finished in each partition of ours, as of a second ago."""
        return dict(self._lag)

    def _main(self) -> None:
        error: Exception | None = None
        try:
            while self._consume(self._membership.join(self._config)):
                log.warning("joined_anew", topic=self._topic)
        except Exception as crash:  # noqa: BLE001  (handed to the event loop, which raises it)
            error = crash
        self._loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: Exception | None) -> None:
        if self._left.done():
            return
        if error is None:
            self._left.set_result(None)
        else:
            self._left.set_exception(error)

    def _consume(self, consumer: Consumer) -> bool:
        """Until the end; True: the group has forgotten this member, and another is to join in its place."""
        try:
            consumer.subscribe([self._topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)
            while not self._stopping.is_set():
                if self._membership.forgotten(self._topic):
                    return True
                self._turn(consumer)
            self._finish(consumer, self.hand.partitions())
        except Exception:
            self.stop()
            raise
        finally:
            self._membership.leave(consumer)
        return False

    def _turn(self, consumer: Consumer) -> None:
        self._commit(consumer)
        self._measure(consumer)
        room = self.hand.wait_free(max(1, self._window.records // 4), POLL_S)
        if room <= 0:
            room = self.hand.wait_free(1, PATIENCE_S)
        if room > 0:
            self._read(consumer, room)
        else:
            self._pause(consumer)

    def _pause(self, consumer: Consumer) -> None:
        consumer.pause(consumer.assignment())
        while not self._stopping.is_set() and self.hand.free() < max(1, self._window.records // 2):
            if self._read(consumer, 1):
                consumer.pause(consumer.assignment())
            self._commit(consumer)
        consumer.resume(consumer.assignment())

    def _read(self, consumer: Consumer, room: int) -> int:
        """Wait for one message, then take what else is there: `consume` alone would wait for its whole time."""
        first = consumer.poll(IDLE_S if self.hand.idle else POLL_S)
        if first is None:
            return 0
        more = min(room, MOST) - 1
        messages = [first, *consumer.consume(more, 0)] if more > 0 else [first]
        found = [record_of(each, inherited=self._inheritance.has(each)) for each in messages if self._readable(each)]
        records, gaps = self.hand.take(found)
        for gap in gaps:
            self._report(gap)
        if records:
            self._loop.call_soon_threadsafe(self._deliver, records)
        return len(records)

    def _readable(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.fatal():
            raise KafkaException(error)
        log.warning("consumer_error", topic=self._topic, error=error.str())
        return False

    def _report(self, gap: Gap) -> None:
        log.warning("gap", topic=self._topic, partition=gap.partition, first=gap.first_missing, next=gap.next_read)
        self.gap(gap)

    def _commit(self, consumer: Consumer, *, wait: bool = False) -> None:
        now = monotonic()
        if not wait and (now < self._held_back_until or (now < self._next_commit and not self.hand.quiet(QUIET_S))):
            return
        marks = self.hand.marks()
        if not marks and self._tenure is not None and now >= self._next_proof:
            marks = self.hand.positions()
        if not marks:
            return
        self._next_commit = now + COMMIT_S
        if self._tenure is not None:
            self._next_proof = now + self._tenure.session_s / PROOFS
        self._asked_at = self._asked_at or now
        try:
            if wait:
                self._committed(None, consumer.commit(offsets=self._parts(marks), asynchronous=False))
            else:
                consumer.commit(offsets=self._parts(marks), asynchronous=True)
        except KafkaException as error:
            self._committed(error.args[0], self._parts(marks))

    def _committed(self, error: KafkaError | None, parts: list[TopicPartition]) -> None:
        failed = [part.partition for part in parts if error is not None or part.error is not None]
        asked_at, self._asked_at = self._asked_at, None
        if self._tenure is not None and asked_at is not None and not failed:
            self._tenure.proven(asked_at)
        if failed:
            log.warning("commit_refused", topic=self._topic, partitions=failed, error=str(error))
            self.hand.refused(failed)
            self._held_back_until = monotonic() + REFUSED_S

    def _measure(self, consumer: Consumer) -> None:
        if monotonic() < self._next_lag:
            return
        self._next_lag = monotonic() + LAG_S
        self._inheritance.learn(consumer)
        marks = self.hand.positions()
        ends = {part: consumer.get_watermark_offsets(TopicPartition(self._topic, part), cached=True) for part in marks}
        self._lag = {part: max(0, end[1] - marks[part]) for part, end in ends.items() if end and end[1] >= 0}

    def _finish(self, consumer: Consumer, partitions: set[int]) -> None:
        deadline = monotonic() + self._drain_s if self._deadline is None else self._deadline
        while not self.hand.drain(partitions, min(deadline, self._next_proof) if self._tenure else deadline):
            if monotonic() >= deadline:
                log.warning("drain_cut", topic=self._topic, partitions=sorted(partitions))
                break
            self._commit(consumer, wait=True)
        self._commit(consumer, wait=True)

    def _assign(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        self._membership.heard()
        log.info("partitions_assigned", topic=self._topic, partitions=[part.partition for part in parts])
        for part in parts:
            self.hand.own(part.partition, None)
        if parts:
            consumer.resume(parts)  # what was taken away while it was paused comes back paused
        if self._tenure is not None:
            self._inheritance.gained(part.partition for part in parts)
            self._tenure.gained(part.partition for part in parts)
        try:
            for part in consumer.committed(parts, timeout=ASK_S) if parts else ():
                if part.offset >= 0 or self._tenure is not None:
                    self._begin(consumer, part)
        except KafkaException as error:
            log.warning("committed_unknown", topic=self._topic, error=str(error))
        self._next_proof = 0.0
        self.assigned = True

    def _begin(self, consumer: Consumer, part: TopicPartition) -> None:
        """Start behind what retention cut off, and commit that, so that the group never seems to lag there."""
        low, end = consumer.get_watermark_offsets(part, timeout=ASK_S)
        self.hand.own(part.partition, max(part.offset, low))
        self._inheritance.ends_at(part.partition, end)
        if low > part.offset >= 0:
            self._report(Gap(part.partition, part.offset, low))
            self.hand.skipped()

    def _revoke(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        gone = {part.partition for part in parts}
        if gone and self._membership.is_by(consumer):
            log.info("partitions_revoked", topic=self._topic, partitions=sorted(gone))
            self._finish(consumer, gone)
            self._disown(gone)

    def _disown(self, gone: set[int]) -> None:
        self.hand.disown(gone)
        self._inheritance.lost(gone)
        if self._tenure is not None:
            self._tenure.lost(gone)

    def _lose(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        gone = {part.partition for part in parts}
        if not gone or not self._membership.is_by(consumer):
            return
        self._membership.lost()
        log.warning("partitions_lost", topic=self._topic, partitions=sorted(gone))
        self._disown(gone)

    def _parts(self, marks: dict[int, int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition, mark) for partition, mark in marks.items()]
