"""The two stores of the embedded stack: noida-db speaks Elasticsearch's API, SecantusDB MongoDB's protocol.

SecantusDB is GPL-2.0: an optional extra that runs as a process of its own and is never imported.
"""

import importlib.util
import sys
from pathlib import Path

import httpx
import pymongo
from pymongo.errors import PyMongoError

from odradek.engines.engine import LOOPBACK, Engine, remembered_port
from odradek.errors import UserError


def elasticsearch_engine(folder: Path) -> Engine:
    """noida-db with only its Elasticsearch side; the binary itself, since its wrapper would leave it behind."""
    folder.mkdir(parents=True, exist_ok=True)
    port = remembered_port(folder)
    package = importlib.util.find_spec("noida_db")
    if package is None or not package.submodule_search_locations:
        raise UserError("The embedded search engine is not installed; pip install 'odradek[embedded]'.")
    binary = Path(package.submodule_search_locations[0]) / "noida-db"
    options = (
        "start",
        "--data-dir",
        str(folder / "data"),
        "--only",
        "elasticsearch",
        "--elasticsearch-port",
        str(port),
    )
    url = f"http://{LOOPBACK}:{port}"
    return Engine("elasticsearch", (str(binary), *options), url, lambda: _http_answers(url))


def mongodb_engine(folder: Path) -> Engine:
    """SecantusDB, standalone."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    port = remembered_port(folder)
    script = Path(sys.executable).with_name("secantusd-py")
    if not script.exists():
        raise UserError("The embedded document store is not installed; pip install 'odradek[embedded]'.")
    options = ("--host", LOOPBACK, "--port", str(port), "--storage-path", str(data), "--standalone")
    url = f"mongodb://{LOOPBACK}:{port}/odradek"
    return Engine("mongodb", (str(script), *options), url, lambda: _mongodb_answers(url))


def _http_answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _mongodb_answers(url: str) -> bool:
    client: pymongo.MongoClient[dict[str, object]] = pymongo.MongoClient(url, serverSelectionTimeoutMS=500)
    try:
        client.admin.command("ping")
    except PyMongoError:
        return False
    finally:
        client.close()
    return True
