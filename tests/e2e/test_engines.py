"""The embedded engines keep what they were given when they are stopped and started again."""

import asyncio
import os
import signal
import time
from pathlib import Path

import httpx
import psutil
import pymongo
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from odradek.engines.engine import port_is_free
from odradek.engines.kafka import kafka_engine
from odradek.engines.stack import Stack, StackOptions
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.kafka.admin import apply_topics
from odradek.runtime.supervisor import Happened, Supervisor
from odradek.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


async def started(folder: Path) -> tuple[Supervisor, dict[str, str]]:
    begun = time.monotonic()
    engines = [
        kafka_engine(folder / "kafka", print),
        elasticsearch_engine(folder / "elasticsearch"),
        mongodb_engine(folder / "mongodb"),
    ]
    supervisor = Supervisor(folder / "logs")
    await supervisor.start(*(engine.child() for engine in engines))
    print(f"{time.monotonic() - begun:.1f} s until all answered: {supervisor.ready_s}")  # noqa: T201  (a figure to read)
    return supervisor, {engine.name: engine.address for engine in engines}


async def test_a_topic_a_document_and_an_event_survive_a_stop(tmp_path: Path) -> None:
    supervisor, addresses = await started(tmp_path)
    created = await asyncio.to_thread(apply_topics, Settings(kafka_bootstrap=addresses["kafka"], partitions=3))
    with pymongo.MongoClient[dict[str, object]](addresses["mongodb"]) as client:
        client["odradek"]["items"].insert_one({"_id": "a"})
    stored = await asyncio.to_thread(
        httpx.put, f"{addresses['elasticsearch']}/probe/_doc/1?refresh=true", json={"a": 1}, trust_env=False
    )
    await supervisor.stop()

    supervisor, again = await started(tmp_path)
    topics = AdminClient({"bootstrap.servers": again["kafka"]}).list_topics(timeout=10).topics
    with pymongo.MongoClient[dict[str, object]](again["mongodb"]) as client:
        documents = [each["_id"] for each in client["odradek"]["items"].find()]
    event = await asyncio.to_thread(httpx.get, f"{again['elasticsearch']}/probe/_doc/1", trust_env=False)
    await supervisor.stop()

    assert stored.is_success
    assert set(created) <= set(topics)
    assert documents == ["a"]
    assert event.json()["_source"] == {"a": 1}
    assert again == addresses, "a state folder keeps its ports"


async def test_kafka_keeps_acknowledged_messages_of_16_mib_through_a_kill_in_a_folder_of_any_name(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Zoë's crawl = 100% \\o/ #1"
    supervisor = Supervisor(folder / "logs")
    engine = kafka_engine(folder / "kafka")
    await supervisor.start(engine.child())
    settings = Settings(kafka_bootstrap=engine.address, partitions=1)
    await asyncio.to_thread(apply_topics, settings)
    body = b"x" * (15 * 1024 * 1024)
    quiet = {"bootstrap.servers": engine.address, "log_level": 0}
    producer = Producer({**quiet, "message.max.bytes": 18_000_000})
    producer.produce(settings.topic("pages"), body, partition=0)
    assert await asyncio.to_thread(producer.flush, 30) == 0

    killed = supervisor.pid("kafka")
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    consumer = Consumer({**quiet, "group.id": "a", "auto.offset.reset": "earliest"})
    consumer.subscribe([settings.topic("pages")])
    deadline = time.monotonic() + 60
    message = None
    while time.monotonic() < deadline and (message is None or message.error() is not None):
        message = await asyncio.to_thread(consumer.poll, 1.0)
    consumer.close()
    restarted = supervisor.pid("kafka")
    await supervisor.stop()

    assert message is not None
    assert message.value() == body
    assert restarted not in (None, killed)
    assert port_is_free(int(engine.address.rpartition(":")[2]))


async def test_a_stack_that_is_interrupted_while_it_starts_leaves_nothing_running(tmp_path: Path) -> None:
    running: dict[str, int] = {}
    all_engines_run = asyncio.Event()

    def told(happened: Happened) -> None:
        if happened.event == "started":
            running[happened.name] = int(happened.detail.removeprefix("pid "))
        if len(running) == 3:
            all_engines_run.set()

    stack = Stack(StackOptions(folder=tmp_path, environ=os.environ), told=told)
    starting = asyncio.create_task(stack.start())
    await asyncio.wait_for(all_engines_run.wait(), 60)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await stack.stop()

    assert set(running) == {"kafka", "mongodb", "elasticsearch"}
    assert [pid for pid in running.values() if psutil.pid_exists(pid)] == []
