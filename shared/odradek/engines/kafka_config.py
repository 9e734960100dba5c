"""What a broker of one node needs to be told, and the storage it finds formatted."""

import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from odradek.engines.engine import LOOPBACK
from odradek.errors import UserError

LARGEST_MESSAGE_BYTES = 18 * 1024 * 1024
"""Bodies of 16 MiB, their metadata and the batch around them."""
BROKER_SESSION_MS = 9_000
"""The controller takes a broker that it has not heard of for so long for dead, although they are one process: a machine
that is too busy for a heartbeat would have every partition go without a leader and every group begin anew. Kafka's own
default; a broker that was killed with -9 is taken back when its session is over, so it answers that much later.
"""


def format_storage(data: Path) -> None:
    """What `kafka-storage format` writes for a node of its own; Kafka adds the rest at its first start.

    Kafka then takes its newest metadata version, as the tool would. Done here it saves a Java process, 1.5 s.
    """
    note = data / "meta.properties"
    if note.exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    part = data.with_name("meta.properties.part")
    part.write_text(f"version=1\ncluster.id={_random_id()}\nnode.id=1\ndirectory.id={_random_id()}\n")
    part.replace(note)


def _random_id() -> str:
    """A UUID as Kafka spells it: 22 characters, no dash in front."""
    text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return "A" + text[1:] if text.startswith("-") else text


def server_properties(data: Path, port: int, controller_port: int) -> str:
    """The text of server.properties.

    Raises:
        UserError: the folder's name has a comma, which would be two folders for Kafka.
    """
    if "," in str(data):
        raise UserError(f"Kafka cannot keep data below {data}, whose name has a comma; choose another with --state.")
    values = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        "auto.create.topics.enable": "false",
        "default.replication.factor": 1,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "group.coordinator.threads": 1,  # one for each group that commits at once gains nothing on one machine
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "message.max.bytes": LARGEST_MESSAGE_BYTES,
        "replica.fetch.max.bytes": LARGEST_MESSAGE_BYTES,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        "num.recovery.threads.per.data.dir": 2,
        "log.segment.bytes": 128 * 1024 * 1024,
        "log.cleaner.dedupe.buffer.size": 32 * 1024 * 1024,  # of the heap; 128 MiB by default
        "broker.session.timeout.ms": BROKER_SESSION_MS,
        "broker.heartbeat.interval.ms": 500,
        "metadata.max.idle.interval.ms": 0,  # no records only to show that the controller lives: half of the idle CPU
    }
    return "".join(f"{name}={_escaped(str(value))}\n" for name, value in values.items())


def _escaped(value: str) -> str:
    r"""A value as a Java properties file spells it: \ doubled, UTF-16 units beyond ASCII as \uXXXX."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if code < 0x80 else f"\\u{code:04x}" for code in codes)  # noqa: PLR2004  (ASCII)
