"""The archive of loaded classes from which Kafka starts in a third of the time; made once, never needed.

Java writes it from a short run of the broker (`-XX:AOTMode=record`, then `create`). It holds for one Java runtime, one
set of jars and one set of options; Java ignores an archive that does not fit.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # re-exported without saying so

from odradek.engines.engine import Engine, free_port
from odradek.engines.kafka_jars import cache_lock, kafka_folder
from odradek.runtime.supervisor import tethered

DEADLINE_S = 60.0
KEPT = 3
"""Archives of other runtimes (virtual environments) that are kept, 60 MB each."""
Broker = Callable[[Path, Path, list[Path], tuple[str, ...], int], Engine]


def class_archive(
    java: Path, jars: list[Path], options: Sequence[str], broker: Broker, notice: Callable[[str], None]
) -> Path | None:
    """The archive for this runtime; None where it cannot be made, which is tried only once."""
    archive = kafka_folder() / f"{_fitting(java, jars, options)}.aot"
    with suppress(OSError):
        if not archive.exists():
            with cache_lock(notice):
                if not archive.exists():
                    notice("Preparing Apache Kafka for fast starts (some seconds, once)")
                    _make(archive, java, jars, options, broker)
        if archive.stat().st_size:
            return archive
    return None


def _fitting(java: Path, jars: Sequence[Path], options: Sequence[str]) -> str:
    """A name that changes with whatever makes Java refuse the archive."""
    files = [java.parent.parent / "lib" / "modules", *jars]
    parts = [str(java), *options, *(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _make(archive: Path, java: Path, jars: list[Path], options: Sequence[str], broker: Broker) -> None:
    for old in archive.parent.glob("training-*"):
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="training-") as scratch:
        folder = Path(scratch)
        recorded, made = f"-XX:AOTConfiguration={folder / 'classes'}", folder / "archive"
        engine = broker(folder, java, jars, ("-XX:AOTMode=record", recorded), free_port())
        try:
            with _running(engine):
                _exercise(engine.address)
            create = (str(java), *options, "-XX:AOTMode=create", recorded, f"-XX:AOTCache={made}")
            subprocess.run(  # noqa: S603  (our own words)
                tethered(create), env=_env(engine), capture_output=True, timeout=DEADLINE_S, check=True
            )
            made.replace(archive)
        except (subprocess.SubprocessError, KafkaException, TimeoutError, FileNotFoundError):
            archive.touch()  # empty: not tried again, Kafka starts without
    for old in sorted(archive.parent.glob("*.aot"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def _env(engine: Engine) -> dict[str, str]:
    return {**os.environ, **engine.env}


@contextmanager
def _running(engine: Engine) -> Iterator[None]:
    """The broker while it answers; ended gently, since Java writes what it recorded at its exit."""
    process = subprocess.Popen(  # noqa: S603  (our own words)
        tethered(engine.command), env=_env(engine), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not engine.ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.05)
        yield
        process.terminate()
        process.wait(DEADLINE_S)
    finally:
        process.kill()
        process.wait()


def _exercise(address: str) -> None:
    """One message there and back, so that also the classes of topics, producers and groups are recorded."""
    common: dict[str, str | int | float | bool] = {"bootstrap.servers": address, "log_level": 0}
    admin = AdminClient(common)
    for created in admin.create_topics([NewTopic("exercise", 1, 1)]).values():
        created.result(DEADLINE_S)
    producer = Producer({**common, "enable.idempotence": True, "compression.type": "lz4"})
    producer.produce("exercise", b"there and back")
    producer.flush(DEADLINE_S)
    consumer = Consumer({**common, "group.id": "exercise", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["exercise"])
        if consumer.poll(DEADLINE_S) is not None:
            consumer.commit(asynchronous=False)
    finally:
        consumer.close()
