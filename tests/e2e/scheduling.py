"""The rest of the world for one scheduler: hosts whose pages form trees; fetcher, parser and indexer in a thread."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.clock import now_ms
from odradek.contracts import (
    PAGE_HEADER,
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
from odradek.kafka.ends import Ends
from odradek.kafka.packing import batch_for, pack
from odradek.kafka.records import Send, ToFrontier
from odradek.kafka.view import View
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.topics import GROUPS, ITEMS, JOBS, LOGS, PAGES, PROGRESS, SCHEDULED
from odradek.urls import CrawlUrl, identify, partition_of

JOB = "job-1"


def until(condition: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


class SchedulerProcess:
    """`python -m odradek_scheduler` against these settings."""

    def __init__(self, settings: Settings, log: Path) -> None:
        environ = {
            "ODRADEK_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
            "ODRADEK_STATE_DIR": str(settings.state_dir),
            "ODRADEK_SESSION_TIMEOUT": f"{settings.session_timeout}s",
            "ODRADEK_IN_FLIGHT": str(settings.in_flight),
        }
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "odradek_scheduler"], env=os.environ | environ, stdout=out, stderr=out
            )

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self, within_s: float) -> int:
        """Ask it to stop; its exit code.

        Raises:
            subprocess.TimeoutExpired: it did not in time.
        """
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(within_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self.kill()


class World:
    """`hosts` hosts with `pages` pages each: page k links to 2k + 1 and 2k + 2 and back to page 0."""

    def __init__(self, settings: Settings, hosts: int, pages: int) -> None:
        self.settings, self._hosts, self._pages = settings, hosts, pages
        self.requests: Counter[tuple[str, int]] = Counter()
        """By URL and try: how often it was asked for."""
        self._producer = Producer(producer_config(settings))
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None
        self.progress: View[Any] = View(
            settings, PROGRESS, lambda key, value: decode(Progress if ":" in key else Reached, value)
        )

    def __enter__(self) -> Self:
        self.progress.start()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopping.set()
        self._thread.join()
        self.progress.stop()
        if self._failure is not None:
            raise self._failure

    def submit(self, **spec: Any) -> None:
        """The job, announced to every partition, and one seed for each host."""
        plain = {"name": "trees", "politeness": {"delay": "0s", "respect_robots": False, "concurrency_per_host": 8}}
        wire = JobSpecification.parse(plain | spec).to_wire()
        record = JobRecord(job=JOB, spec=wire, seeded=True, created_at_ms=now_ms())
        changed = JobChanged(job=JOB, version=1, epoch=1, spec=wire, at_ms=now_ms())
        partitions = range(self.settings.partitions)
        self._send([Send(JOBS, JOB, encode(record), partition=0)])
        self._send([batch_for(partition, [changed]) for partition in partitions])
        seeds = [self._link(self._url(host, 0), seed=True) for host in range(self._hosts)]
        self._send(pack(seeds, self.settings.partitions))
        self._producer.flush(10)

    def seed(self, urls: list[str]) -> None:
        """Further seeds."""
        self._send(pack([self._link(url, seed=True) for url in urls], self.settings.partitions))
        self._producer.flush(10)

    def reports(self) -> list[Progress]:
        return [report for _, report in self.progress.items() if isinstance(report, Progress)]

    def reached(self) -> Reached | None:
        found = self.progress.get(JOB)
        return found if isinstance(found, Reached) else None

    def total(self, name: str) -> int:
        return sum(getattr(report.counters, name) for report in self.reports())

    def recounted(self, name: str) -> int:
        return sum(getattr(report.recount, name) if report.recount else 0 for report in self.reports())

    def _url(self, host: int, page: int) -> str:
        return f"https://host{host}.example/{page}"

    def _link(self, url: str, *, seed: bool = False) -> ToFrontier:
        known = identify(url)
        assert isinstance(known, CrawlUrl)
        return ToFrontier(known.key, Discovered(job=JOB, url=url, fp=known.fp, key=known.key, seed=seed))

    def _run(self) -> None:
        fetcher, parser = self._consumer("fetcher", SCHEDULED), self._consumer("parser", PAGES)
        indexers = {
            topic: Consumer(consumer_config(self.settings, self.settings.group(GROUPS[topic])))
            for topic in (ITEMS, LOGS)
        }
        ends = Ends(self.settings)
        indexed_at = 0.0
        try:
            while not self._stopping.is_set():
                self._take(fetcher, self._fetch)
                self._take(parser, self._parse)
                if time.monotonic() > indexed_at + 0.1:
                    self._index(indexers, ends)
                    indexed_at = time.monotonic()
        except BaseException as error:  # noqa: BLE001  (raised again where the test can see it)
            self._failure = error
        finally:
            for each in (fetcher, parser, *indexers.values(), ends):
                each.close()

    def _take(self, consumer: Consumer, handle: Callable[[Any], None]) -> None:
        messages = consumer.consume(200, timeout=0.01)
        for message in messages:
            handle(message)
        if not messages:
            return
        self._producer.flush(10)
        done = {(m.topic(), m.partition()): m.offset() + 1 for m in messages}
        consumer.commit(offsets=[TopicPartition(*tp, offset) for tp, offset in done.items()], asynchronous=False)

    def _fetch(self, message: Any) -> None:
        request = decode(FetchRequest, message.value())
        self.requests[request.url, request.attempt] += 1
        answer = Fetched(job=JOB, fp=request.fp, key=request.key, attempt=request.attempt, status=200, at_ms=now_ms())
        page = Send(PAGES, request.fp, b"", headers=((PAGE_HEADER, message.value()),))
        self._send([page, *pack([ToFrontier(request.key, answer)], self.settings.partitions)])

    def _parse(self, message: Any) -> None:
        request = decode(FetchRequest, dict(message.headers())[PAGE_HEADER])
        host, number = request.url.removeprefix("https://host").split(".example/")
        links = [page for page in (2 * int(number) + 1, 2 * int(number) + 2) if page < self._pages]
        facts = [self._link(self._url(int(host), page)) for page in [*links, 0]]
        outcome = Parsed(
            job=JOB, fp=request.fp, key=request.key, attempt=request.attempt, outcome="fetched", status=200, kept=True,
            at_ms=now_ms(),
        )  # fmt: skip
        self._send(pack([*facts, ToFrontier(request.key, outcome)], self.settings.partitions))

    def _index(self, indexers: dict[str, Consumer], ends: Ends) -> None:
        for topic, indexer in indexers.items():
            found = ends.end_offsets(topic).items()
            parts = [TopicPartition(self.settings.topic(topic), partition, end) for partition, end in found if end]
            if parts:
                indexer.commit(offsets=parts, asynchronous=False)

    def _consumer(self, service: str, topic: str) -> Consumer:
        consumer = Consumer(consumer_config(self.settings, self.settings.group(service)))
        name = self.settings.topic(topic)
        consumer.assign([TopicPartition(name, partition, 0) for partition in range(self.settings.partitions)])
        return consumer

    def _send(self, sends: list[Send]) -> None:
        for send in sends:
            partition = partition_of(send.key, self.settings.partitions) if send.partition is None else send.partition
            self._producer.produce(
                self.settings.topic(send.topic),
                send.value,
                key=send.key.encode(),
                partition=partition,
                headers=list(send.headers),
            )
        self._producer.poll(0)
