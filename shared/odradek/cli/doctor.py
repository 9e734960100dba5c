"""`odradek doctor`: what is reachable, what is misconfigured, and what to do about it."""

import os
import resource
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

import pymongo
import typer
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from pymongo.errors import PyMongoError

from odradek.cli.rest import Rest
from odradek.cli.tables import LOCAL, Api, AsJson, print_json, wants_json
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.admin import differences
from odradek.kafka.client import connection_config
from odradek.kafka.members import Members
from odradek.keys import key_to_send, known_keys
from odradek.settings import Settings
from odradek.stores import SearchRefused, connect_search
from odradek.stores.documents import DATABASE

TIMEOUT_S = 3.0
LITTLE_BYTES = 2**30
"""Less room than this in the state folder is too little."""
FEW_FILES = 1024
"""Connections and tables are files; a fetcher and a scheduler need more than so many."""
UP = "or start everything on this machine with odradek up, and export what it prints"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    remedy: str | None = None
    """What to do; None: nothing."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(api: Api = LOCAL, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Look at settings, Kafka, topics, services, MongoDB, Elasticsearch and the gateway; exit code 1 if one is ill."""
    findings = list(examine(os.environ, api))
    if wants_json(as_json=as_json):
        print_json({"ok": all(each.ok for each in findings), "findings": [asdict(each) for each in findings]})
    else:
        for each in findings:
            typer.echo(f"{'ok  ' if each.ok else 'ILL '} {each.what}: {each.detail}")
            if each.remedy is not None:
                typer.echo(f"     {each.remedy}")
    raise typer.Exit(0 if all(each.ok for each in findings) else 1)


def examine(environ: Mapping[str, str], api: str) -> Iterator[Finding]:
    """Everything, in the order in which trouble has to be cured."""
    try:
        settings = Settings.read(environ)
    except UserError as error:
        yield Finding("settings", ok=False, detail=str(error), remedy="correct or unset this variable")
        return
    yield _settings(settings)
    yield _keys(settings)
    yield _state(settings)
    yield _files()
    kafka = _kafka(settings)
    yield kafka
    if kafka.ok:
        yield _topics(settings)
        yield from _services(settings)
    yield _mongodb(settings)
    yield _elasticsearch(settings)
    yield _gateway(api, key_to_send(environ))


def _settings(settings: Settings) -> Finding:
    if settings.contact_url is None:
        remedy = "set ODRADEK_CONTACT_URL, so that the owners of sites can reach you"
        return Finding("settings", ok=True, detail="readable; no contact URL", remedy=remedy)
    return Finding("settings", ok=True, detail="readable")


def _keys(settings: Settings) -> Finding:
    try:
        names = sorted(known_keys(settings))
    except UserError as error:
        return Finding("keys", ok=False, detail=str(error), remedy="make keys with odradek keys new NAME")
    if names:
        return Finding("keys", ok=True, detail=f"the gateway accepts those of {', '.join(names)}")
    remedy: str | None
    beyond = settings.api_host not in ("127.0.0.1", "::1", "localhost")
    if beyond and not settings.insecure:
        detail = f"none, and the gateway is to bind {settings.api_host}: it refuses"
        return Finding(
            "keys", ok=False, detail=detail, remedy="make keys with odradek keys new NAME, or bind 127.0.0.1"
        )
    remedy = "make keys with odradek keys new NAME: whoever reaches the gateway may do everything" if beyond else None
    return Finding("keys", ok=True, detail="none, whoever reaches the gateway may ask", remedy=remedy)


def _state(settings: Settings) -> Finding:
    folder = settings.state_dir.absolute()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not os.access(there, os.W_OK):
        elsewhere = "set ODRADEK_STATE_DIR to a folder that can be written"
        return Finding("state", ok=False, detail=f"{there} cannot be written", remedy=elsewhere)
    free = shutil.disk_usage(there).free
    remedy = None if free >= LITTLE_BYTES else "make room, or set ODRADEK_STATE_DIR to another disk"
    return Finding("state", ok=remedy is None, detail=f"{free / 2**30:,.1f} GiB free for {folder}", remedy=remedy)


def _files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft == resource.RLIM_INFINITY or soft > FEW_FILES
    remedy = None if enough else "raise the limit of open files (ulimit -n 65536)"
    return Finding("open files", ok=enough, detail=f"at most {soft:,}", remedy=remedy)


def _kafka(settings: Settings) -> Finding:
    # Without a callback librdkafka writes every attempt to standard error.
    admin = AdminClient(connection_config(settings) | {"log_level": 0, "error_cb": lambda _: None})
    try:
        brokers = admin.list_topics(timeout=TIMEOUT_S).brokers
    except KafkaException as error:
        detail = f"{settings.kafka_bootstrap} does not answer: {error.args[0].str()}"
        return Finding("kafka", ok=False, detail=detail, remedy=f"start it, correct ODRADEK_KAFKA_BOOTSTRAP, {UP}")
    return Finding("kafka", ok=True, detail=f"{len(brokers)} brokers at {settings.kafka_bootstrap}")


def _topics(settings: Settings) -> Finding:
    try:
        found = differences(settings)
    except (InfrastructureAway, KafkaException) as error:
        return Finding("topics", ok=False, detail=str(error), remedy="see whether the brokers are overloaded")
    if not found:
        return Finding("topics", ok=True, detail="as they should be")
    remedy = (
        "run odradek topics"
        if all(each.endswith("is missing") for each in found)
        else "correct them with Kafka's own tools; odradek topics --verify tells when they are right"
    )
    return Finding("topics", ok=False, detail="; ".join(found), remedy=remedy)


def _services(settings: Settings) -> Iterator[Finding]:
    for service, count in Members(settings).count().items():
        if isinstance(count, str):
            yield Finding(service, ok=False, detail=count, remedy="see whether the brokers are overloaded")
            continue
        remedy = None if count else f"start one with odradek service {service}, {UP}"
        if service == "api" and count > 1:
            remedy = "change a job through one of them at a time"
        yield Finding(service, ok=count > 0, detail=f"{count} running", remedy=remedy)


def _mongodb(settings: Settings) -> Finding:
    def ping() -> str:
        patience_ms = int(TIMEOUT_S * 1000)
        url = settings.mongodb_url.get_secret_value()
        with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=patience_ms) as client:
            client.get_default_database(DATABASE).list_collection_names()  # a ping is answered without a user, too
        return "answers"

    return _store("mongodb", ping, "ODRADEK_MONGODB_URL")


def _elasticsearch(settings: Settings) -> Finding:
    def ask() -> str:
        engine = connect_search(settings)
        try:
            version = (engine.call("GET", "/").get("version") or {}).get("number")
        finally:
            engine.close()
        return f"answers, version {version}"

    return _store("elasticsearch", ask, "ODRADEK_ELASTICSEARCH_URL")


def _store(name: str, ask: Callable[[], str], variable: str) -> Finding:
    try:
        return Finding(name, ok=True, detail=ask())
    except (PyMongoError, InfrastructureAway, SearchRefused, UserError) as error:
        detail = str(error).partition(", Timeout:")[0][:300]
        return Finding(name, ok=False, detail=detail, remedy=f"start it, correct {variable}, {UP}")


def _gateway(api: str, key: str | None) -> Finding:
    try:
        with Rest(api, key) as gateway:
            gateway.get("/health/ready")
            gateway.get("/v1/jobs", limit=1)
    except InfrastructureAway as error:
        remedy = f"start it with odradek service api, {UP}; name another with --api"
        return Finding("gateway", ok=False, detail=str(error).partition(";")[0], remedy=remedy)
    except UserError as error:
        remedy = (
            "set ODRADEK_API_KEY to a key of this gateway" if "X-API-Key" in str(error) else "wait, or read its log"
        )
        return Finding("gateway", ok=False, detail=str(error), remedy=remedy)
    return Finding("gateway", ok=True, detail=f"answers at {api}")
