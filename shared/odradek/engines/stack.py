"""The whole of Odradek on one machine: engines, topics and services as child processes, all bound to loopback."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from odradek.engines.bytecode import bytecode_env
from odradek.engines.engine import LOOPBACK, Engine, free_port, http_answers
from odradek.engines.kafka import kafka_engine
from odradek.engines.stores import elasticsearch_engine, mongodb_engine
from odradek.errors import UserError
from odradek.kafka.admin import apply_topics, partitions_of
from odradek.runtime.supervisor import Child, Happened, Supervisor
from odradek.settings import Settings
from odradek.topics import SCHEDULED

EMBEDDED_PARTITIONS = 1
"""Of each topic when an embedded broker is new, but as many as there are fetchers. librdkafka sends a request for each
partition, and a request costs the broker as much as fifty messages in it: with four partitions it takes twice the CPU.
"""
EMBEDDED_LOG_EVENTS = 50_000
"""Crawl events kept by the embedded search engine: it holds about 5 KB of each in memory."""
WORKERS = ("scheduler", "fetcher", "parser", "indexer", "api")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOptions:
    """What may differ from one stack to another."""

    folder: Path
    environ: Mapping[str, str]
    """Settings of the person, `ODRADEK_…`."""
    fetchers: int = 1
    api_port: int = 0
    """0: any free port."""
    kafka: str | None = None
    mongodb: str | None = None
    elasticsearch: str | None = None
    """Engines that exist already; None: embedded."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """By engine (kafka, mongodb, elasticsearch), where a person has chosen one; else a free one, remembered."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Settings that win over the person's."""


class Stack:
    """Starts, keeps and stops everything.

    Times of the start are in `split`, seconds by stage (`engines_s` is Kafka's; the stores start beside it), and in
    `supervisor.ready_s`, seconds by child.
    """

    def __init__(
        self,
        options: StackOptions,
        notice: Callable[[str], None] = lambda _: None,
        told: Callable[[Happened], None] = lambda _: None,
    ) -> None:
        self._options, self._notice = options, notice
        own = {name: value for name, value in options.environ.items() if not name.startswith("ODRADEK_")}
        self.supervisor = Supervisor(options.folder / "logs", told, bytecode_env(own))
        self.split: dict[str, float] = {}
        self.env: dict[str, str] = {}
        self.api_url = ""
        self._ports: dict[str, int] = {}

    async def start(self) -> None:
        """Everything, in the order of need.

        Raises:
            UserError: something did not start; its log is quoted.
        """
        started = time.monotonic()
        engines = await asyncio.to_thread(self._engines)
        self.env = self._environment(engines)
        self._note("prepared_s", started)
        stores = [engine.child() for name, engine in engines.items() if name != "kafka"]
        try:
            async with asyncio.TaskGroup() as group:  # whichever fails first ends the start
                group.create_task(self.supervisor.start(*stores))
                group.create_task(self._kafka_and_services(engines.get("kafka")))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _kafka_and_services(self, kafka: Engine | None) -> None:
        started = time.monotonic()
        if kafka is not None:
            await self.supervisor.start(kafka.child())
        started = self._note("engines_s", started)
        settings = Settings.read(self.env)
        await asyncio.to_thread(apply_topics, settings)
        await asyncio.to_thread(self._warn_of_idle_fetchers, settings)
        started = self._note("topics_s", started)
        await self.supervisor.start(*self._services())
        self._note("services_s", started)

    def _warn_of_idle_fetchers(self, settings: Settings) -> None:
        wanted = self._options.fetchers
        found = partitions_of(settings, SCHEDULED) if wanted > EMBEDDED_PARTITIONS else wanted
        if found < wanted:
            self._notice(
                f"The topics that exist have {found} partitions, so only so many of {wanted} fetchers have work; "
                "a new state folder gets as many partitions as fetchers."
            )

    async def stop(self) -> None:
        """Services first, so that they can finish; then the engines."""
        await self.supervisor.stop_group([child.name for child in self._services()] if self.env else [])
        await self.supervisor.stop()

    def _note(self, stage: str, since: float) -> float:
        now = time.monotonic()
        self.split[stage] = round(now - since, 2)
        return now

    def _engines(self) -> dict[str, Engine]:
        folder, options, ports = self._options.folder, self._options, self._options.ports
        engines: dict[str, Engine] = {}
        try:
            if options.kafka is None:
                engines["kafka"] = kafka_engine(folder / "kafka", self._notice, port=ports.get("kafka"))
            if options.mongodb is None:
                engines["mongodb"] = mongodb_engine(folder / "mongodb", port=ports.get("mongodb"))
            if options.elasticsearch is None:
                port = ports.get("elasticsearch")
                engines["elasticsearch"] = elasticsearch_engine(folder / "elasticsearch", port=port)
        except OSError as error:
            raise UserError(f"The state folder {folder} cannot be written: {error.strerror}.", exit_code=1) from error
        return engines

    def _environment(self, engines: Mapping[str, Engine]) -> dict[str, str]:
        options = self._options
        api_port = options.api_port or free_port()
        self.api_url = f"http://{LOOPBACK}:{api_port}"
        env = {name: value for name, value in options.environ.items() if name.startswith("ODRADEK_")}
        env |= {
            "ODRADEK_KAFKA_BOOTSTRAP": options.kafka or engines["kafka"].address,
            "ODRADEK_MONGODB_URL": options.mongodb or engines["mongodb"].address,
            "ODRADEK_ELASTICSEARCH_URL": options.elasticsearch or engines["elasticsearch"].address,
            "ODRADEK_STATE_DIR": str(options.folder / "state"),
            "ODRADEK_API_HOST": LOOPBACK,
            "ODRADEK_API_PORT": str(api_port),
        }
        if options.elasticsearch is None:
            env.setdefault("ODRADEK_LOG_EVENTS_MAX", str(EMBEDDED_LOG_EVENTS))
        if options.kafka is None:
            env.setdefault("ODRADEK_PARTITIONS", str(max(EMBEDDED_PARTITIONS, options.fetchers)))
        return env | dict(options.overrides)

    def _services(self) -> list[Child]:
        names = [name for name in WORKERS if name != "fetcher"]
        names += [f"fetcher-{number}" for number in range(self._options.fetchers)]
        return [self._service(name) for name in names]

    def _service(self, name: str) -> Child:
        kind = name.partition("-")[0]
        port = int(self.env["ODRADEK_API_PORT"]) if kind == "api" else self._port_of(name)
        env = self.env | ({} if kind == "api" else {"ODRADEK_METRICS_PORT": str(port)})
        command: Sequence[str] = (sys.executable, "-m", "odradek", "service", kind)
        return Child(name, command, lambda: http_answers(port, "/health/ready"), env)

    def _port_of(self, name: str) -> int:
        if name not in self._ports:
            self._ports[name] = free_port()
        return self._ports[name]
