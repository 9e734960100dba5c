"""The overlay for production: three brokers, every record on three of them; one is killed in the middle of a job.

ODRADEK_COMPOSE=1 make e2e ARGS="-s tests/e2e/test_compose_brokers.py"
"""

import re
from collections.abc import Iterator

import pytest
from tests.e2e.composing import WANTED, Stack, a_stack

pytestmark = WANTED

_REPLICAS = re.compile(r"Topic: (\S+)\s.*ReplicationFactor: (\d+)")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with a_stack(tmp_path_factory.mktemp("brokers"), "compose/production.yaml") as found:
        yield found


def test_every_topic_is_on_three_brokers(stack: Stack) -> None:
    replicas = dict(_REPLICAS.findall(stack.kafka("kafka-topics", "--describe")))
    assert len([topic for topic in replicas if topic.startswith("odradek.")]) > 1
    assert set(replicas.values()) == {"3"}


@pytest.mark.parametrize("broker", ["kafka", "kafka-2"])
def test_a_killed_broker_loses_nothing(stack: Stack, broker: str) -> None:
    job = stack.submit(politeness={"delay": "20ms", "concurrency_per_host": 1})
    pages = stack.crawled(job, 0.1)
    stack.compose("kill", "--signal", "KILL", broker)
    assert stack.ask(f"/v1/jobs/{job}")["state"] == "running"
    print(f"{broker} killed at {pages} pages")  # noqa: T201  (figures)
    stack.finished(job)  # while it is away
    print(f"complete without it; all healthy again after {stack.up('--no-recreate'):.0f} s")  # noqa: T201  (figures)
