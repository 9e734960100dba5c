"""Apache Kafka's jars: fetched once by jgo, a Maven resolver in pure Python, and checked at every start.

What they must be stands in kafka_jars.json (name to SHA-256, in the order of the class path). When the version
changes: `python -m odradek.engines.kafka_jars > shared/odradek/engines/kafka_jars.json`.
"""

import fcntl
import hashlib
import importlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from odradek.engines.engine import package_folder
from odradek.errors import UserError

VERSION = "4.1.1"
ENDPOINT = f"org.apache.kafka:kafka_2.13:{VERSION}+org.slf4j:slf4j-simple:1.7.36"
SUMS = Path(__file__).with_name("kafka_jars.json")


def cache_folder() -> Path:
    """Where what was downloaded or prepared once is kept for every state folder of this person."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "odradek"


def kafka_folder() -> Path:
    """The part of the cache that belongs to this version of Apache Kafka."""
    return cache_folder() / f"kafka-{VERSION}"


def wanted_sums() -> dict[str, str]:
    """SHA-256 of each jar by file name, in the order of the class path."""
    sums: dict[str, str] = json.loads(SUMS.read_text())
    return sums


def kafka_jars(notice: Callable[[str], None]) -> list[Path]:
    """Kafka's jars in the order of the class path; needs the network only for the first time on this machine.

    Raises:
        UserError: they cannot be had, or one is not the file it should be.
    """
    folder, wanted = kafka_folder() / "lib", wanted_sums()
    try:
        if not _complete(folder, wanted):
            with cache_lock(notice):
                if not _complete(folder, wanted):
                    notice(f"Downloading Apache Kafka {VERSION} (45 MB, once)")
                    _install(_download(), folder, wanted)
        verify([folder / name for name in wanted], wanted)
    except OSError as error:
        raise UserError(f"Apache Kafka cannot be kept in {kafka_folder()}: {error.strerror}.", exit_code=1) from error
    return [folder / name for name in wanted]


@contextmanager
def cache_lock(notice: Callable[[str], None]) -> Iterator[None]:
    """Two first starts at once prepare one after the other."""
    kafka_folder().mkdir(parents=True, exist_ok=True)
    with (kafka_folder() / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            notice("Waiting for another odradek that prepares Apache Kafka")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sums_of(jars: list[Path]) -> dict[str, str]:
    """SHA-256 of each jar by file name."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars}


def verify(jars: list[Path], wanted: Mapping[str, str]) -> None:
    """Compare the jars with what they must be.

    Raises:
        UserError: one differs, is missing or is one too many.
    """
    have = sums_of(jars)
    wrong = sorted(name for name in {*wanted, *have} if wanted.get(name) != have.get(name))
    if wrong:
        raise UserError(
            f"Apache Kafka's files are not what they should be ({', '.join(wrong)}); delete {jars[0].parent} and try "
            "again.",
            exit_code=1,
        )


def _complete(folder: Path, wanted: Mapping[str, str]) -> bool:
    return all((folder / name).is_file() for name in wanted)


def _download() -> list[Path]:
    """The jars where jgo leaves them: linked from the person's Maven repository."""
    package_folder("jgo", "Kafka")
    try:
        environment = importlib.import_module("jgo").build(ENDPOINT, cache_dir=kafka_folder() / "jgo")
    except Exception as error:  # jgo raises whatever its network library raises
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise  # the disk, not the network
        raise UserError(
            f"Apache Kafka's jars could not be downloaded ({error}); check the connection to the Maven repository, "
            "or use a broker that exists with odradek up --kafka.",
            exit_code=1,
        ) from error
    return sorted(environment.path.glob("jars/*.jar")) + sorted(environment.path.glob("modules/*.jar"))


def _install(jars: list[Path], folder: Path, wanted: Mapping[str, str]) -> None:
    """Check what came, then keep it under its final name in one step."""
    verify(jars, wanted)
    part = folder.with_name("lib.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for jar in jars:
        shutil.copy2(jar, part / jar.name)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    shutil.rmtree(kafka_folder() / "jgo", ignore_errors=True)


if __name__ == "__main__":
    print(json.dumps(sums_of(_download()), indent=1))  # noqa: T201  (its purpose)
