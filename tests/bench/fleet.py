"""The rest of the world for a scheduler with a large backlog: links found, and a fleet that answers every request."""

import hashlib
from collections.abc import Iterable
from threading import Condition, Event, Thread
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.clock import now_ms
from odradek.contracts import (
    Discovered,
    Fetched,
    FetchRequest,
    JobChanged,
    JobRecord,
    Parsed,
    Progress,
    Reached,
    decode,
    encode,
)
from odradek.kafka.client import consumer_config, producer_config
from odradek.kafka.packing import batch_for, pack
from odradek.kafka.records import Send, ToFrontier
from odradek.kafka.view import View
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.topics import JOBS, PROGRESS, SCHEDULED

JOB = "backlog-1"


class Pending:
    """URLs never seen before; those of another `series` are others."""

    def __init__(self, hosts: int, series: int = 0) -> None:
        self._found = [0] * hosts
        self._series = series

    def found(self, host: int, count: int) -> list[ToFrontier]:
        """So many new URLs of a host."""
        first = self._found[host]
        self._found[host] += count
        return [self._link(host, number) for number in range(first, first + count)]

    def _link(self, host: int, number: int) -> ToFrontier:
        key = f"site-{host}.example"
        url = f"https://www.{key}/catalogue-{self._series}/category-{number % 97}/product-{number}.html"
        fp = hashlib.blake2b(url.encode(), digest_size=16).hexdigest()
        via = f"https://www.{key}/catalogue-{self._series}/category-{number % 97}/"
        return ToFrontier(key, Discovered(job=JOB, url=url, fp=fp, key=key, depth=3, via=via))


class Fleet:
    """Answers what is scheduled at once, as fetchers and parsers together, and commits as they do."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        config = producer_config(settings) | {"queue.buffering.max.messages": 1_000_000, "linger.ms": 20}
        self._producer = Producer(config)
        self._stopping = Event()
        self._arrived = Condition()
        self._newest_ms: list[int] = []
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self.progress: View[Any] = View(
            settings, PROGRESS, lambda key, value: decode(Progress if ":" in key else Reached, value)
        )

    def __enter__(self) -> Self:
        self.progress.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self.progress.stop()

    def announce(self, **politeness: Any) -> None:
        """The job, to every partition."""
        plain = {"name": "backlog", "politeness": {"respect_robots": False} | politeness}
        wire = JobSpecification.parse(plain).to_wire()
        record = JobRecord(job=JOB, spec=wire, seeded=True, created_at_ms=now_ms())
        changed = JobChanged(job=JOB, version=1, epoch=1, spec=wire, at_ms=now_ms())
        self._send([Send(JOBS, JOB, encode(record), partition=0)])
        self._send([batch_for(partition, [changed]) for partition in range(self._settings.partitions)])
        self.flush()

    def discover(self, links: list[ToFrontier]) -> int:
        """Send links; returns how many batches they were."""
        sends = pack(links, self._settings.partitions)
        self._send(sends)
        return len(sends)

    def flush(self) -> None:
        """All of it is in Kafka."""
        self._producer.flush(60)

    def accepted(self) -> int:
        """URLs that the scheduler has taken in, as it reports."""
        return sum(report.counters.accepted for _, report in self.progress.items() if isinstance(report, Progress))

    def first_request_after(self, at_ms: int, within_s: float) -> int:
        """When the first request left after that instant.

        Raises:
            TimeoutError: none did.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._newest_ms and self._newest_ms[-1] > at_ms, within_s):
                raise TimeoutError("no request")
            return next(sent_ms for sent_ms in self._newest_ms if sent_ms > at_ms)

    def _run(self) -> None:
        consumer = Consumer(consumer_config(self._settings, self._settings.group("fetcher")))
        name = self._settings.topic(SCHEDULED)
        consumer.assign([TopicPartition(name, partition, 0) for partition in range(self._settings.partitions)])
        while not self._stopping.is_set():
            messages = consumer.consume(500, timeout=0.05)
            if messages:
                self._answer(consumer, messages)
        consumer.close()

    def _answer(self, consumer: Consumer, messages: list[Any]) -> None:
        requests = [decode(FetchRequest, message.value()) for message in messages if message.error() is None]
        self._send(
            pack([fact for request in requests for fact in outcome_of(request, now_ms())], self._settings.partitions)
        )
        self._producer.flush(30)
        done = {(m.topic(), m.partition()): m.offset() + 1 for m in messages if m.error() is None}
        consumer.commit(offsets=[TopicPartition(*tp, offset) for tp, offset in done.items()], asynchronous=False)
        with self._arrived:
            self._newest_ms = sorted([*self._newest_ms, *(request.sent_at_ms for request in requests)])
            self._arrived.notify_all()

    def _send(self, sends: Iterable[Send]) -> None:
        for send in sends:
            if send.partition is None:
                raise ValueError(send.topic)
            while True:
                try:
                    self._producer.produce(
                        self._settings.topic(send.topic), send.value, key=send.key.encode(), partition=send.partition
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.poll(0)


def outcome_of(request: FetchRequest, at_ms: int) -> list[ToFrontier]:
    """What a fetcher and a parser tell the frontier of a page."""
    answer = Fetched(
        job=request.job, fp=request.fp, key=request.key, attempt=request.attempt, status=200, duration_ms=20.0,
        sent_at_ms=request.sent_at_ms, at_ms=at_ms,
    )  # fmt: skip
    outcome = Parsed(
        job=request.job, fp=request.fp, key=request.key, attempt=request.attempt, outcome="fetched", status=200,
        kept=True, at_ms=at_ms,
    )  # fmt: skip
    return [ToFrontier(request.key, answer), ToFrontier(request.key, outcome)]
