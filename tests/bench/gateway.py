"""`python -m tests.bench.gateway`: a million seeds in one call, a call cut in the middle, and status at any backlog.

Apache Kafka, one scheduler and the gateway, nothing else: what is accepted stays pending. Printed are the time and the
gateway's memory, whether received + rejected are all lines, what Kafka holds after a connection was cut and after the
same list was sent again with the same idempotency key, and the latency of `GET /v1/jobs/{id}` for a small and a large
backlog, asked in turn. `--seeds 20000 --cut 20000` is a quick run; `--more 1000000` makes the large backlog two
millions.
"""

import argparse
import asyncio
import http.client
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import httpx
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.bench.backlog import Process, until
from tests.embedded import kafka

from odradek.contracts import Batch, Discovered, decode
from odradek.engines.engine import free_port
from odradek.kafka.admin import apply_topics
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek.topics import FRONTIER

SMALL = 1000
WRONG_EVERY = 100
"""One line in so many is no seed."""
ASKED = 300
PIECE_LINES = 1000


def body(name: str, seeds: int) -> Iterator[bytes]:
    """So many lines for a thousand hosts, one in a hundred of them wrong."""
    path = name.encode()
    for start in range(0, seeds, PIECE_LINES):
        lines = range(start + 1, min(start + PIECE_LINES, seeds) + 1)
        yield b"".join(
            b"mailto:nobody-%d\n" % n
            if n % WRONG_EVERY == 0
            else b"https://site-%d.example/%b/%d\n" % (n % 1000, path, n)
            for n in lines
        )


class Duplex:
    """One list with a verdict for each line; the verdicts are read close behind the lines, as curl does it."""

    def __init__(self, port: int, job: str, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.putrequest("POST", f"/v1/jobs/{job}/seeds")
        for name, value in (
            ("content-type", "text/plain"), ("accept", "application/x-ndjson"), ("idempotency-key", key),
            ("transfer-encoding", "chunked"),
        ):  # fmt: skip
            self._connection.putheader(name, value)
        self._connection.endheaders()
        self._reading = self._connection.sock.makefile("rb")

    def send(self, pieces: Iterable[bytes]) -> list[dict[str, Any]]:
        """The verdicts that came while these went."""
        told, sent = list[dict[str, Any]](), 0
        for piece in pieces:
            self._connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent += PIECE_LINES
            while len(told) < sent - 4 * PIECE_LINES:
                told += self._verdicts(self._reading.readline())
        return told

    def rest(self) -> Iterator[dict[str, Any]]:
        """The list ends; what is left to be told, the totals last."""
        self._connection.send(b"0\r\n\r\n")
        while line := self._reading.readline():
            yield from self._verdicts(line)
            if line == b"0\r\n":
                return

    def _verdicts(self, line: bytes) -> list[dict[str, Any]]:
        return [json.loads(line)] if line.startswith(b"{") else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.close()
        self._connection.close()


class Bench:
    """One gateway, and what is measured of it."""

    def __init__(self, settings: Settings, folder: Path, options: argparse.Namespace) -> None:
        self._settings, self._seeds, self.found = settings, options.seeds, dict[str, Any]()
        self._cut_seeds, self._more = options.cut, options.more
        self._port = free_port()
        self._logs = folder
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=None, trust_env=False)

    def run(self) -> None:
        """Everything."""
        scheduler = Process("scheduler", self._settings, self._logs / "scheduler.log")
        api = Process("api", self._settings, self._logs / "api.log", ODRADEK_API_PORT=str(self._port))
        with scheduler, api:
            until(self._is_ready, 60, "the gateway does not begin")
            small = self._job("small")
            self._send(small, "small", SMALL)
            big = self._job("big")
            self._whole(big, api)
            self._cut(api)
            if self._more:
                self._send(big, "two", self._more)
            wanted = int(0.99 * (self._seeds + self._more))
            until(lambda: self._get(big)["pending"] >= wanted, 900, "the scheduler is behind")
            self._status(small, big, api)

    def _is_ready(self) -> bool:
        try:
            return self._client.get("/health/ready").is_success
        except httpx.TransportError:
            return False

    def _job(self, name: str) -> str:
        answer = self._client.post("/v1/jobs", json={"name": name, "politeness": {"delay": "10s"}})
        return str(answer.raise_for_status().json()["job_id"])

    def _get(self, job: str) -> Any:
        return self._client.get(f"/v1/jobs/{job}").raise_for_status().json()

    def _send(self, job: str, name: str, seeds: int, **headers: str) -> Any:
        given = {"content-type": "text/plain", **headers}
        return self._client.post(f"/v1/jobs/{job}/seeds", content=body(name, seeds), headers=given).raise_for_status()

    def _whole(self, job: str, api: Process) -> None:
        cpu_s, began = api.cpu_s, time.monotonic()
        answer = self._send(job, "one", self._seeds).json()
        took_s = time.monotonic() - began
        self._tell(
            "one_call",
            {
                "lines": self._seeds, "seconds": round(took_s, 1), "seeds_per_s": round(self._seeds / took_s),
                "api_cpu_us_per_seed": round((api.cpu_s - cpu_s) / self._seeds * 1e6, 1),
                "received": answer["received"], "rejected_total": answer["rejected_total"],
                "all_accounted_for": answer["received"] + answer["rejected_total"] == self._seeds,
                "rejected_shown": len(answer["rejected"]), "first_rejected": answer["rejected"][0],
                "api_memory_mib": api.memory_mib(),
            },
        )  # fmt: skip

    def _cut(self, api: Process) -> None:
        """The client goes away in the middle of a list with verdicts line by line, and sends it again."""
        job = self._job("cut")
        with Duplex(self._port, job, "k") as stream:
            told = stream.send(itertools.islice(body("cut", self._cut_seeds), self._cut_seeds // PIECE_LINES // 2))
        until(lambda: bool(api.events("seeds_cut_off")), 60, "the gateway does not notice")
        first = self._in_kafka(job)
        with Duplex(self._port, job, "k") as stream:
            verdicts = [*stream.send(body("cut", self._cut_seeds)), *stream.rest()]
        *lines, totals = verdicts
        rejected = [line for line in lines if line["verdict"] == "rejected"]
        received = {line["url"] for line in told if line["verdict"] == "received"}
        both = self._in_kafka(job)
        self._tell(
            "cut_in_the_middle",
            {
                "answered_as_received": len(received), "of_these_in_kafka": len(received & set(first)),
                "in_kafka": len(first), "then_answered": totals, "verdict_lines": len(lines),
                "rejections_with_line_and_reason": sum(bool(each["line"] and each["reason"]) for each in rejected),
                "in_kafka_after_the_repeat": len(both), "twice_in_kafka": len(both) - len(set(both)),
                "api_memory_mib": api.memory_mib(),
            },
        )  # fmt: skip

    def _in_kafka(self, job: str) -> list[str]:
        """URLs of every `Discovered` of the job on the frontier."""
        consumer = Consumer(consumer_config(self._settings, "bench") | {"partition.assignment.strategy": "range"})
        name, found = self._settings.topic(FRONTIER), list[str]()
        parts = consumer.list_topics(name, timeout=10).topics[name].partitions
        ends = {part: consumer.get_watermark_offsets(TopicPartition(name, part), timeout=10)[1] for part in parts}
        consumer.assign([TopicPartition(name, part, OFFSET_BEGINNING) for part, end in ends.items() if end])
        left = {part: end for part, end in ends.items() if end}
        while left:
            for message in consumer.consume(1000, timeout=0.2):
                facts = decode(Batch, message.value() or b"").facts
                found += [fact.url for fact in facts if isinstance(fact, Discovered) and fact.job == job]
                if message.offset() + 1 >= left.get(message.partition(), 1 << 62):
                    left.pop(message.partition())
        consumer.close()
        return found

    def _status(self, small: str, big: str, api: Process) -> None:
        """Asked in turn, while the scheduler is at work."""
        spans: dict[str, list[float]] = {small: [], big: []}
        for _ in range(ASKED):
            for job, mine in spans.items():
                began = time.perf_counter()
                self._get(job)
                mine.append((time.perf_counter() - began) * 1000)
        for job, mine in spans.items():
            mine.sort()
            shown = self._get(job)
            self._tell(
                f"status_at_{shown['pending']}_pending",
                {
                    "p50_ms": round(statistics.median(mine), 2), "p95_ms": round(mine[int(len(mine) * 0.95)], 2),
                    "limiting_reason": shown["limiting_reason"], "api_memory_mib": api.memory_mib(),
                },
            )  # fmt: skip

    def _tell(self, name: str, figures: dict[str, Any]) -> None:
        self.found[name] = figures
        print(f"{name}: {json.dumps(figures)}", file=sys.stderr, flush=True)  # noqa: T201  (its purpose)


async def main(options: argparse.Namespace) -> dict[str, Any]:
    """One run; the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with kafka(folder) as address:
            settings = Settings(kafka_bootstrap=address, session_timeout=10.0, state_dir=folder / "state")
            bench = Bench(settings, folder, options)
            await asyncio.to_thread(apply_topics, settings)
            await asyncio.to_thread(bench.run)
        return bench.found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000_000)
    parser.add_argument("--cut", type=int, default=200_000, help="lines of the list whose connection is cut")
    parser.add_argument("--more", type=int, default=0, help="seeds added before the status is asked for")
    print(json.dumps(asyncio.run(main(parser.parse_args())), indent=1))  # noqa: T201  (its purpose)
