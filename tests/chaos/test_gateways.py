"""Two gateways on one Kafka, one killed with a list half-sent: the other finishes what was begun, without settings.

Takes about 45 s, most of it waiting for Kafka to miss the dead one: `CHAOS_GATEWAYS=1` runs it.
"""

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.bench.backlog import Process
from tests.embedded import kafka

from odradek.contracts import JobRecord, decode
from odradek.engines.engine import free_port
from odradek.kafka.admin import apply_topics
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek.topics import JOBS

WITHIN_S = 60.0
pytestmark = pytest.mark.skipif("CHAOS_GATEWAYS" not in os.environ, reason="set CHAOS_GATEWAYS=1: it takes 45 s")


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WITHIN_S
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.2)
    return holds()


def record(settings: Settings, job: str) -> JobRecord | None:
    """The newest of a job."""
    consumer = Consumer(consumer_config(settings, "look") | {"partition.assignment.strategy": "range"})
    name, found = settings.topic(JOBS), None
    end = consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=10)[1]
    consumer.assign([TopicPartition(name, 0, 0)])
    place = 0
    while place < end:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            place = (message.offset() or 0) + 1
            found = decode(JobRecord, message.value() or b"") if message.key() == job.encode() else found
    consumer.close()
    return found


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/ready", trust_env=False).is_success
    except httpx.TransportError:
        return False


def half_a_list(port: int, job: str) -> socket.socket:
    """Sends 2,500 lines of a list that does not end; returns when the first are answered."""
    lines = b"".join(b"https://site.example/%d\n" % number for number in range(2500))
    head = (
        f"POST /v1/jobs/{job}/seeds HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
        "Accept: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(head.encode() + b"%x\r\n%b\r\n" % (len(lines), lines))
    connection.settimeout(WITHIN_S)
    answered = b""
    while b'"verdict":"received"' not in answered:
        answered += connection.recv(65_536)
    return connection


def play(settings: Settings, folder: Path) -> None:
    ports = [free_port(), free_port()]
    first, second = (Process("api", settings, folder / f"api-{port}.log", ODRADEK_API_PORT=str(port)) for port in ports)
    with first, second:
        assert until(lambda: all(is_ready(port) for port in ports))
        made = httpx.post(f"http://127.0.0.1:{ports[0]}/v1/jobs", json={"name": "two"}, trust_env=False)
        job = str(made.raise_for_status().json()["job_id"])
        assert until(lambda: httpx.get(f"http://127.0.0.1:{ports[1]}/v1/jobs/{job}", trust_env=False).is_success)

        with half_a_list(ports[1], job):
            assert until(lambda: bool(first.events("lease_held") or second.events("lease_held")))
            time.sleep(2 * 5.0 + 1)  # two looks of the one that holds the lease: who is there is left alone
            begun = record(settings, job)
            second.kill()
            killed_s = time.monotonic()
            assert begun is not None
            assert len(begun.seeding) == 1

            assert until(lambda: record(settings, job).seeding == ())  # type: ignore[union-attr]  # it is there
            print(json.dumps({"finished_by_the_other_after_s": round(time.monotonic() - killed_s, 1)}))  # noqa: T201
        healed = record(settings, job)
        assert healed is not None
        assert healed.seeded


async def test_what_a_killed_gateway_has_begun_another_one_finishes(tmp_path: Path) -> None:
    async with kafka(tmp_path) as address:
        settings = Settings(kafka_bootstrap=address, session_timeout=6.0, state_dir=tmp_path / "state")
        await asyncio.to_thread(apply_topics, settings)
        await asyncio.to_thread(play, settings, tmp_path)
