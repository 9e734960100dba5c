"""`python -m tests.bench.items --items 1000000`: items through the topic into MongoDB, each once.

On embedded Kafka and a MongoDB (the embedded SecantusDB, or `--mongodb URL`), the parts in this order or those that
`--parts` names:

- `plain:send`, `plain:store`, `plain:compare`: one round, undisturbed; every item is compared with what was sent;
- `export`: that round's items to Parquet by a process of its own, as the gateway does it, read back and compared;
- `disturbed:…`, the same three: every fifth item comes twice, and the indexer is killed with -9 at a third and at two
  thirds of what is to be stored;
- `events`: crawl events into the embedded search engine, `--events` of them.

`--state FOLDER` keeps the engines' data, so that the parts may be run one by one, and `store` in pieces of `--seconds`.
Prints rates, peak memory and processor time, of the indexer from its first commit on; figures of two machines do not
compare.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pymongo
from confluent_kafka import Producer
from pyarrow import parquet
from tests.bench.items_load import Indexer, an_event, an_id, an_item

from odradek.contracts import JobRecord, encode
from odradek.engines.kafka import kafka_engine
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.errors import InfrastructureAway
from odradek.exporting import TABLES
from odradek.kafka.admin import apply_topics
from odradek.kafka.client import producer_config
from odradek.kafka.ends import Ends
from odradek.runtime.supervisor import Supervisor
from odradek.settings import Settings
from odradek.stores import ITEMS as COLLECTION
from odradek.stores import connect_documents, connect_search, count_path, exported_line, refresh_path
from odradek.topics import GROUPS, ITEMS, JOBS, LOGS
from odradek_api.reading import Reader

PARTS = "plain:send,plain:store,plain:compare,export,disturbed:send,disturbed:store,disturbed:compare,events"
JOB_NAMES = ("plain", "disturbed")
LOOKED_UP = 50
"""Ids in one question: the embedded engine goes through all of them for each document that it finds."""
LOOK_EVERY_S = 0.2
DEADLINE_S = 3600
READY_S = 120


class Bench:
    """Engines that run, and what is done with them."""

    def __init__(self, settings: Settings, env: dict[str, str], engines: dict[str, psutil.Process]) -> None:
        """`engines`: by name, those that run here."""
        self._settings, self._env, self._engines = settings, env, engines
        self._ends = Ends(settings)

    def wait_ready(self) -> None:
        """Until Kafka leads its partitions again, after a start on data that was there."""
        deadline = time.monotonic() + READY_S
        while True:
            try:
                self._ends.end_offsets(ITEMS)
                self._ends.end_offsets(LOGS)
                self._committed()
            except InfrastructureAway:
                assert time.monotonic() < deadline, "Kafka is not ready"
                time.sleep(LOOK_EVERY_S)
            else:
                return

    def send(self, job: str, items: int, *, twice: bool) -> None:
        """One job's items into the topic."""
        self._know(job)
        sent_s = _timed(lambda: self._send(ITEMS, _each(job, items, twice=twice)))
        say(f"{job}: {items:,} items sent in {sent_s:.0f} s{', every fifth twice' if twice else ''}")

    def store(self, job: str, seconds: float, *, disturbed: bool) -> None:
        """What lies in the topic into MongoDB, to the last commit or for so many seconds."""
        end, before = sum(self._ends.end_offsets(ITEMS).values()), self._committed()
        begun, indexer, spent = time.monotonic(), Indexer(self._env), self._spent()
        kills = [before + (end - before) * part // 3 for part in (1, 2)] if disturbed else []
        first, already, killed = None, 0, 0
        while (done := self._committed()) < end and time.monotonic() < begun + seconds:
            if first is None and done > before:
                first, already = time.monotonic(), done
                indexer.begun()
            indexer.look()
            if kills and done >= kills[0]:
                kills.pop(0)
                killed += 1
                indexer.kill()
                indexer.start()
            time.sleep(LOOK_EVERY_S)
        took_s, measured = time.monotonic() - (first or begun), max(done - already, 1)
        indexer.look()
        engines = (f"{name} {(now - spent[name]) / measured * 1e6:.0f}" for name, now in self._spent().items())
        say(
            f"{job}: {done - before:,} records stored in {took_s:.1f} s = {measured / took_s:,.0f}/s, "
            f"{end - done:,} are left; killed {killed} times; RSS {indexer.peak_rss / 2**20:.0f} MiB; CPU a record: "
            f"indexer {indexer.cpu_us(measured):.1f} us, {', '.join(engines)}; load {os.getloadavg()[0]:.1f}"
        )
        indexer.stop()

    def _committed(self) -> int:
        return sum(self._ends.committed(GROUPS[ITEMS], ITEMS).values())

    def _spent(self) -> dict[str, float]:
        """Processor time of the engines so far."""
        times = {name: process.cpu_times() for name, process in self._engines.items()}
        return {name: each.user + each.system for name, each in times.items()}

    def events(self, job: str, events: int) -> None:
        """One job's events, from an empty backlog to the last commit."""
        self._send(LOGS, (encode(an_event(job, number)) for number in range(events)))
        ends = self._ends.end_offsets(LOGS)
        begun, indexer = time.monotonic(), Indexer(self._env)
        while not self._ends.passed(GROUPS[LOGS], LOGS, ends):
            indexer.look()
            assert time.monotonic() < begun + DEADLINE_S
            time.sleep(LOOK_EVERY_S)
        took_s = time.monotonic() - begun
        indexer.stop()
        engine = connect_search(self._settings)
        engine.call("POST", refresh_path())
        found = engine.call("GET", count_path())["count"]
        engine.close()
        assert found == events, f"{found} of {events} events"
        say(
            f"{events:,} events in {took_s:.1f} s from the start of the process, "
            f"RSS {indexer.peak_rss / 2**20:.0f} MiB, CPU {indexer.cpu_s / events * 1e6:.1f} ms per 1,000"
        )

    def export(self, job: str, items: int, folder: Path) -> None:
        """One job's items to Parquet and back."""
        path = folder / "items.parquet"
        made = subprocess.run(
            [sys.executable, "-m", "tests.bench.items", "--export-to", str(path), "--job", job],
            env={**os.environ, **self._env}, check=True, capture_output=True, text=True,
        )  # fmt: skip
        say(made.stdout.strip())
        numbers = sorted(range(items), key=partial(an_id, job))
        rows = (row for batch in parquet.ParquetFile(path).iter_batches(2000) for row in batch.to_pylist())
        for number, row in zip(numbers, rows, strict=True):
            item = an_item(job, number)
            back = {name: row[f"data.{name}"] for name in item.data}
            back |= {name: json.loads(back[name]) for name in ("tags", "maker")}
            assert (row["_id"], row["url"], back) == (item.id, item.url, item.data)
        say(f"{job}: {items:,} items read back from Parquet, each equal and in the order of ids")

    def compare(self, job: str, items: int) -> None:
        """Every item with what was sent, looked up by its id; and how many documents there are in all."""
        database = connect_documents(self._settings)
        begun, jobs = time.monotonic(), len(self._stored_jobs(database))
        for start in range(0, items, LOOKED_UP):
            sent = [an_item(job, number) for number in range(start, min(start + LOOKED_UP, items))]
            found = {each["_id"]: each for each in database[COLLECTION].find({"_id": {"$in": [x.id for x in sent]}})}
            for item in sent:
                assert item.id in found, f"{item.id} is not there"
                line = exported_line(found[item.id])
                assert (line["data"], line["url"], found[item.id]["change"]) == (item.data, item.url, "new"), item.id
        with pymongo.timeout(DEADLINE_S):  # the embedded engine goes through all documents
            stored = database[COLLECTION].estimated_document_count()
        database.client.close()
        assert stored == items * jobs, f"{stored} documents of {jobs} jobs with {items} items each"
        say(
            f"{job}: {items:,} items, each as it was sent; {stored:,} documents of {jobs} jobs in all: nothing twice; "
            f"read in {time.monotonic() - begun:.0f} s"
        )

    def _stored_jobs(self, database: Any) -> list[str]:
        """Jobs of which the first item is stored."""
        return [job for job in JOB_NAMES if database[COLLECTION].find_one({"_id": an_item(job, 0).id}) is not None]

    def _know(self, job: str) -> None:
        fields = {"price": {"css": ".price", "type": "decimal"}}
        record = JobRecord(job=job, spec={"extract": [{"type": "book", "fields": fields}]})
        self._send(JOBS, iter([encode(record)]), key=job)

    def _send(self, topic: str, values: Iterator[bytes], key: str | None = None) -> None:
        producer = Producer(producer_config(self._settings) | {"linger.ms": 20})
        for number, value in enumerate(values):
            while True:
                try:
                    producer.produce(self._settings.topic(topic), value, key=key or str(number))
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(120)
        assert left == 0, f"Kafka did not take {left} messages"


def export_to(path: Path, settings: Settings, job: str) -> None:
    """What the gateway does for `export?format=parquet`, and the memory that it takes."""
    reader = Reader(connect_documents(settings), connect_search(settings), {})  # type: ignore[arg-type]  # no job is known
    begun = time.monotonic()
    with path.open("wb") as output:
        for piece in TABLES["parquet"](reader.export_lines(job)):
            output.write(piece)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 2**20
    say(f"{job}: Parquet of {size:.0f} MiB in {time.monotonic() - begun:.0f} s, RSS at most {peak:.0f} MiB")
    reader.close()


def _each(job: str, items: int, *, twice: bool) -> Iterator[bytes]:
    for number in range(items):
        value = encode(an_item(job, number))
        yield value
        if twice and number % 5 == 0:
            yield value


def _timed(work: Any) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def say(text: str) -> None:
    """One line of the result."""
    print(text, flush=True)  # noqa: T201  (the result)


async def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--mongodb", help="a MongoDB that exists")
    parser.add_argument("--parts", default=PARTS)
    parser.add_argument("--seconds", type=float, default=3600, help="how long a `store` may take")
    parser.add_argument("--state", type=Path, help="where engines keep their data; else nowhere")
    parser.add_argument("--export-to", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.export_to is not None:
        export_to(asked.export_to, Settings.read(os.environ), asked.job)
        return
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as name:
        folder = asked.state or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        await run(asked, folder)


async def run(asked: argparse.Namespace, folder: Path) -> None:
    """Start engines, run the parts, stop the engines."""
    supervisor = Supervisor(folder / "logs")
    engines = [kafka_engine(folder / "kafka"), elasticsearch_engine(folder / "elasticsearch")]
    if asked.mongodb is None:
        engines.append(mongodb_engine(folder / "mongodb"))
    addresses = {engine.name: engine.address for engine in engines}
    await supervisor.start(*(engine.child() for engine in engines))
    env = {
        "ODRADEK_KAFKA_BOOTSTRAP": addresses["kafka"],
        "ODRADEK_MONGODB_URL": asked.mongodb or addresses["mongodb"],
        "ODRADEK_ELASTICSEARCH_URL": addresses["elasticsearch"],
        "ODRADEK_PARTITIONS": str(asked.partitions),
        "ODRADEK_LOG_LEVEL": os.environ.get("ODRADEK_LOG_LEVEL", "error"),
    }
    settings = Settings.read(env)
    await asyncio.to_thread(apply_topics, settings)
    running = {engine.name: psutil.Process(supervisor.pid(engine.name)) for engine in engines}
    bench = Bench(settings, env, running)
    say(f"MongoDB: {asked.mongodb or 'embedded SecantusDB'}; load {os.getloadavg()[0]:.1f}")
    parts = {
        f"{job}:{step}": work
        for job, disturbed in zip(JOB_NAMES, (False, True), strict=True)
        for step, work in {
            "send": partial(bench.send, job, asked.items, twice=disturbed),
            "store": partial(bench.store, job, asked.seconds, disturbed=disturbed),
            "compare": partial(bench.compare, job, asked.items),
        }.items()
    }
    parts["export"] = partial(bench.export, JOB_NAMES[0], asked.items, folder)
    parts["events"] = partial(bench.events, "events", asked.events)
    try:
        await asyncio.to_thread(bench.wait_ready)
        for part in asked.parts.split(","):
            await asyncio.to_thread(parts[part])
    finally:
        await supervisor.stop()


if __name__ == "__main__":
    asyncio.run(main())
