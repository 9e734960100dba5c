"""The embedded engines keep what they were given when they are stopped and started again."""

import asyncio
import time
from pathlib import Path

import httpx
import pymongo
import pytest
from confluent_kafka.admin import AdminClient

from odradek.engines.engine import Engine
from odradek.engines.kafka import kafka_engine
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.kafka.admin import apply_topics
from odradek.runtime.supervisor import Child, Supervisor
from odradek.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def a_child(engine: Engine) -> Child:
    return Child(engine.name, engine.command, engine.ready, engine.env)


async def started(folder: Path) -> tuple[Supervisor, dict[str, str], float]:
    begun = time.monotonic()
    engines = [
        kafka_engine(folder / "kafka"),
        elasticsearch_engine(folder / "elasticsearch"),
        mongodb_engine(folder / "mongodb"),
    ]
    supervisor = Supervisor(folder / "logs")
    await supervisor.start(*map(a_child, engines))
    return supervisor, {engine.name: engine.address for engine in engines}, time.monotonic() - begun


async def test_a_topic_a_document_and_an_event_survive_a_stop(tmp_path: Path) -> None:
    supervisor, addresses, first_s = await started(tmp_path)
    created = await asyncio.to_thread(apply_topics, Settings(kafka_bootstrap=addresses["kafka"], partitions=3))
    with pymongo.MongoClient[dict[str, object]](addresses["mongodb"]) as client:
        client["odradek"]["items"].insert_one({"_id": "a"})
    stored = await asyncio.to_thread(
        httpx.put, f"{addresses['elasticsearch']}/probe/_doc/1?refresh=true", json={"a": 1}, trust_env=False
    )
    await supervisor.stop()

    supervisor, addresses, second_s = await started(tmp_path)
    topics = AdminClient({"bootstrap.servers": addresses["kafka"]}).list_topics(timeout=10).topics
    with pymongo.MongoClient[dict[str, object]](addresses["mongodb"]) as client:
        documents = [each["_id"] for each in client["odradek"]["items"].find()]
    event = await asyncio.to_thread(httpx.get, f"{addresses['elasticsearch']}/probe/_doc/1", trust_env=False)
    await supervisor.stop()

    print(f"engines: first start {first_s:.1f} s, second {second_s:.1f} s")  # noqa: T201  (a figure to be read)
    assert stored.is_success
    assert set(created) <= set(topics)
    assert documents == ["a"]
    assert event.json()["_source"] == {"a": 1}
