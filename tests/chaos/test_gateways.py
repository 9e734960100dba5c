"""Two gateways on one Kafka, one killed with a list half-sent: the other finishes what was begun, without settings.

And changes found by their time, as only a real Kafka does it. About a minute, most of it waiting for Kafka to miss the
dead one: `CHAOS_GATEWAYS=1` runs them.
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
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.bench.backlog import Process
from tests.embedded import kafka

from odradek.clock import now_ms
from odradek.contracts import ItemChanged, JobRecord, decode, encode
from odradek.engines.engine import free_port
from odradek.kafka.admin import apply_topics
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek.topics import CHANGES, JOBS
from odradek_api.changing import ChangeFeed

WITHIN_S = 60.0
pytestmark = pytest.mark.skipif("CHAOS_GATEWAYS" not in os.environ, reason="set CHAOS_GATEWAYS=1: it takes a minute")


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


AGES_S = {"new": 7200, "changed": 3600, "gone": 60}
"""How long ago each was told; Kafka finds the first one after an instant by these."""


def told_of(settings: Settings, job: str) -> None:
    now = now_ms()
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap})
    for number, (change, age_s) in enumerate(AGES_S.items()):
        at_ms = now - age_s * 1000
        told = ItemChanged(
            id=f"{job}:{number}", job=job, change=change, type="page", url="https://a.example/", run=2, at_ms=at_ms
        )
        producer.produce(settings.topic(CHANGES), key=told.id, value=encode(told), timestamp=at_ms)
    assert producer.flush(10) == 0


def heard(feed: ChangeFeed, job: str, since_s: int | None, limit: int = 100) -> set[str]:
    """Kinds of change, asked for piece by piece until the end."""
    found, cursor, at_end = set[str](), None, False
    since_ms = None if since_s is None else now_ms() - since_s * 1000
    while not at_end:
        piece = feed.after(job, since_ms, cursor, limit)
        found |= {change["change"] for change in piece["data"]}
        cursor, at_end = piece["next_cursor"], piece["at_end"]
    return found


async def test_changes_are_found_by_when_they_were_told(tmp_path: Path) -> None:
    async with kafka(tmp_path) as address:
        settings = Settings(kafka_bootstrap=address, state_dir=tmp_path / "state")
        await asyncio.to_thread(apply_topics, settings)
        for job in ("mine", "other"):
            await asyncio.to_thread(told_of, settings, job)
        feed = ChangeFeed(settings)
        asked = {None: 100, 5400: 100, 600: 100, 1: 100, 10**8: 1}
        found = {
            since_s: await asyncio.to_thread(heard, feed, "mine", since_s, limit) for since_s, limit in asked.items()
        }

    assert found == {
        None: {"new", "changed", "gone"}, 5400: {"changed", "gone"}, 600: {"gone"}, 1: set(),
        10**8: {"new", "changed", "gone"},
    }  # fmt: skip
