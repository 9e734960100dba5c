"""The two stores of the embedded stack: noida-db speaks Elasticsearch's API, SecantusDB MongoDB's protocol.

noida-db holds what it indexes in memory, about 5 KB a crawl event, and saves it when it is stopped: what the stack
keeps is capped by the indexer (`ODRADEK_LOG_EVENTS_MAX`). SecantusDB is GPL-2.0: an optional extra that runs as a
process of its own and is never imported.
"""

import shutil
import sysconfig
from pathlib import Path

from odradek.engines.engine import (
    LOOPBACK,
    Engine,
    http_answers,
    package_folder,
    port_accepts,
    remembered_port,
)
from odradek.errors import UserError

MONGODB_CACHE = "256M"
"""SecantusDB's share of the memory; 1 GiB unless told."""


def elasticsearch_engine(folder: Path, *, port: int | None = None) -> Engine:
    """noida-db with only its Elasticsearch side; the binary itself, since its wrapper would leave it behind.

    Raises:
        UserError: it is not installed, or the chosen port is taken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    binary = package_folder("noida_db", "search engine") / "noida-db"
    port = remembered_port(folder, port)
    options = f"start --only elasticsearch --elasticsearch-port {port} --data-dir".split()
    command = (str(binary), *options, str(folder / "data"))
    return Engine("elasticsearch", command, f"http://{LOOPBACK}:{port}", lambda: http_answers(port))


def mongodb_engine(folder: Path, *, port: int | None = None) -> Engine:
    """SecantusDB as a single server, deaf to configuration files of this person or machine.

    Raises:
        UserError: it is not installed, or the chosen port is taken.
    """
    data, configuration = folder / "data", folder / "secantusd.toml"
    data.mkdir(parents=True, exist_ok=True)
    script = shutil.which("secantusd-py", path=sysconfig.get_path("scripts")) or shutil.which("secantusd-py")
    if script is None:
        raise UserError("The embedded document store is not installed; pip install 'odradek[embedded]'.")
    configuration.touch()
    port = remembered_port(folder, port)
    options = f"--host {LOOPBACK} --port {port} --standalone --cache-size {MONGODB_CACHE} --log-level WARNING".split()
    command = (script, *options, "--storage-path", str(data), "--config", str(configuration))
    # It listens after its storage is open, and drivers wait for a server by themselves.
    return Engine("mongodb", command, f"mongodb://{LOOPBACK}:{port}/odradek", lambda: port_accepts(port))
