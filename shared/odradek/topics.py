"""The table of topics: names are spelled here and nowhere else, with key, policy, writers and readers.

`odradek topics` creates and verifies them before any worker starts. docs/topics.md is generated from this table.
"""

from dataclasses import dataclass
from typing import Literal

from odradek import contracts
from odradek.contracts.codec import Message

Service = Literal["scheduler", "fetcher", "parser", "indexer", "api", "outsiders"]

DEFAULT_PREFIX = "odradek."
DEFAULT_PARTITIONS = 12
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Bodies up to 15 MiB and their metadata."""

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

JOBS = "jobs"
FRONTIER = "frontier"
SCHEDULED = "scheduled"
PAGES = "pages"
ITEMS = "items"
LOGS = "logs"
PROGRESS = "progress"
HOSTS = "hosts"
QUESTIONS = "questions"
ANSWERS = "answers"
CHANGES = "changes"
DEAD_LETTERS = "dead-letters"
WEBHOOKS = "webhooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic: what lies in it, by which key and why, for how long, and who touches it."""

    name: str
    value: tuple[type[Message], ...]
    key: str
    why: str
    written_by: tuple[Service, ...]
    read_by: tuple[Service, ...]
    compacted: bool = False
    retention_ms: int | None = None
    """None: kept by key (compacted)."""
    partitions: int | None = None
    """None: the setting `ODRADEK_PARTITIONS`."""
    retention_bytes: int | None = None
    """Cap for one partition; None: no cap."""
    note: str = ""

    def config(self) -> dict[str, str]:
        """The topic's configuration as Kafka spells it."""
        config = {
            "cleanup.policy": "compact" if self.compacted else "delete",
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
        }
        if self.retention_ms is not None:
            config["retention.ms"] = str(self.retention_ms)
        if self.retention_bytes is not None:
            config["retention.bytes"] = str(self.retention_bytes)
        return config


TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        Topic(
            name=JOBS,
            value=(contracts.JobRecord,),
            key="job id",
            why="the newest record of a job wins",
            compacted=True,
            partitions=1,
            written_by=("api",),
            read_by=("scheduler", "fetcher", "parser", "indexer", "api"),
            note="read from the beginning by every service",
        ),
        Topic(
            name=FRONTIER,
            value=(contracts.Batch,),
            key="politeness key",
            why="one partition owns a host",
            retention_ms=7 * DAY_MS,
            written_by=("api", "fetcher", "parser", "scheduler"),
            read_by=("scheduler",),
            note="a batch holds facts of many hosts of one partition",
        ),
        Topic(
            name=SCHEDULED,
            value=(contracts.FetchRequest,),
            key="URL fingerprint",
            why="load spreads over all fetchers even when one host dominates",
            retention_ms=DAY_MS,
            written_by=("scheduler",),
            read_by=("fetcher",),
        ),
        Topic(
            name=PAGES,
            value=(contracts.PageMeta,),
            key="URL fingerprint",
            why="two answers of one URL are judged in the order they were stored",
            retention_ms=7 * DAY_MS,
            retention_bytes=2 * 1024**3,
            written_by=("fetcher",),
            read_by=(
                "parser",
                "indexer",
            ),
            note="the value is the body after content-decoding, the header `page` its metadata; "
            "a failed fetch has no body; the indexer reads it only where a job keeps an archive",
        ),
        Topic(
            name=ITEMS,
            value=(contracts.Item, contracts.PageSeen),
            key="item id, or job id + `:@` + URL fingerprint for a page that was seen again",
            why="versions of one item are stored in order",
            retention_ms=7 * DAY_MS,
            written_by=("parser",),
            read_by=("indexer",),
        ),
        Topic(
            name=LOGS,
            value=(contracts.LogEvent,),
            key="job id + fingerprint",
            why="the events of one URL lie in order",
            retention_ms=3 * DAY_MS,
            written_by=("scheduler", "fetcher", "parser", "indexer", "api"),
            read_by=("indexer",),
        ),
        Topic(
            name=PROGRESS,
            value=(contracts.Progress, contracts.Reached),
            key="job id + `:` + frontier partition, and job id alone for the reached state",
            why="the newest report of a partition wins",
            compacted=True,
            written_by=("scheduler",),
            read_by=("api", "scheduler"),
        ),
        Topic(
            name=HOSTS,
            value=(contracts.HostReport,),
            key="politeness key",
            why="the newest report of a host wins",
            compacted=True,
            written_by=("scheduler",),
            read_by=("api",),
        ),
        Topic(
            name=QUESTIONS,
            value=(contracts.Question,),
            key="politeness key",
            why="the owner of the host answers",
            retention_ms=HOUR_MS,
            written_by=("api",),
            read_by=("scheduler",),
        ),
        Topic(
            name=ANSWERS,
            value=(contracts.Answer,),
            key="politeness key",
            why="as the question's",
            retention_ms=HOUR_MS,
            written_by=("scheduler",),
            read_by=("api",),
        ),
        Topic(
            name=CHANGES,
            value=(contracts.ItemChanged,),
            key="item id",
            why="changes of one item lie in order",
            retention_ms=7 * DAY_MS,
            written_by=("indexer",),
            read_by=("api", "outsiders"),
        ),
        Topic(
            name=WEBHOOKS,
            value=(contracts.WebhookDelivery,),
            key="delivery id",
            why="the newest word on a delivery wins",
            compacted=True,
            partitions=1,
            written_by=("api",),
            read_by=("api",),
            note="the gateway that holds the group `webhooks` on `jobs` delivers; every gateway shows the log",
        ),
        Topic(
            name=DEAD_LETTERS,
            value=(),
            key="source topic-partition-offset (+ rule + position for a record)",
            why="the same poison is one dead letter",
            retention_ms=30 * DAY_MS,
            written_by=("scheduler", "fetcher", "parser", "indexer", "api"),
            read_by=("indexer",),
            note="the value is the untouched message; reason, error, source and service stand in headers",
        ),
    )
}

GROUPS: dict[str, str] = {
    FRONTIER: "scheduler",
    SCHEDULED: "fetcher",
    PAGES: "parser",
    ITEMS: "indexer.items",
    LOGS: "indexer.logs",
    DEAD_LETTERS: "indexer.dead-letters",
}
"""The consumer group, without prefix, that works through a topic: what it has committed is done.

One process of the indexer is in several groups, so that a member that comes or goes moves the partitions of no topic
but its own.
"""
GATEWAYS_GROUP = "webhooks"
"""Every gateway is in it; the one that has the partition of `jobs` does what must be done once."""
ARCHIVE_GROUP = "indexer.pages"
"""Reads `pages` beside the parser, for jobs that keep an archive."""
