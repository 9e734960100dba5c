"""What the brokers say about the topics: partition counts, and the changelogs, created before Faust starts."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # its stubs re-export silently

from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.admin import wait_known
from odradek.kafka.client import connection_config
from odradek.settings import Settings
from odradek.topics import ANSWERS, DEAD_LETTERS, FRONTIER, HOSTS, LOGS, MAX_MESSAGE_BYTES, PROGRESS, SCHEDULED
from odradek_scheduler.core.tables import TABLE_NAMES
from odradek_scheduler.settings import COMPACTION_LAG_MS, SERVICE

TIMEOUT_S: Final = 10.0
USED: Final = (FRONTIER, SCHEDULED, PROGRESS, HOSTS, ANSWERS, LOGS, DEAD_LETTERS)


def changelog_name(settings: Settings, table: str) -> str:
    """Full name of a table's changelog, as Faust builds it."""
    return f"{settings.group(SERVICE)}-{table}-changelog"


def read_layout(settings: Settings) -> dict[str, int]:
    """Partition counts of the topics that the scheduler writes and reads, by name without prefix; changelogs exist.

    Raises:
        InfrastructureAway: the brokers do not answer, or a topic does not exist yet.
        UserError: a changelog has another number of partitions than the frontier.
    """
    admin = AdminClient(connection_config(settings))
    existing = _existing(admin)
    missing = [settings.topic(name) for name in USED if settings.topic(name) not in existing]
    if missing:
        raise InfrastructureAway(f"topics do not exist yet ({', '.join(missing)}); run odradek topics")
    counts = {name: existing[settings.topic(name)] for name in USED}
    changelogs = [changelog_name(settings, table) for table in TABLE_NAMES]
    _create(admin, [name for name in changelogs if name not in existing], counts[FRONTIER], settings)
    for name in changelogs:
        have = existing.get(name, counts[FRONTIER])
        if have != counts[FRONTIER]:
            raise UserError(
                f"The topic {name} has {have} partitions and the frontier {counts[FRONTIER]}; delete it, or the prefix "
                "ODRADEK_TOPIC_PREFIX belongs to another stack.",
                exit_code=1,
            )
    return counts


def changelog_config() -> dict[str, str]:
    """Of a changelog: compacted, never younger than the longest pause of a former owner (rule B)."""
    return {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(COMPACTION_LAG_MS),
        "max.message.bytes": str(MAX_MESSAGE_BYTES),
    }


def _existing(admin: AdminClient) -> dict[str, int]:
    try:
        topics = admin.list_topics(timeout=TIMEOUT_S).topics
    except KafkaException as error:
        raise InfrastructureAway(f"Kafka does not answer: {error}") from error
    return {name: len(topic.partitions) for name, topic in topics.items()}


def _create(admin: AdminClient, names: Sequence[str], partitions: int, settings: Settings) -> None:
    """Those that do not exist; who comes second to create them waits for them like who comes first.

    One that joined the group before would lead it without knowing the changelogs, and hand out partitions without them.
    """
    if not names:
        return
    new = [
        NewTopic(name, num_partitions=partitions, replication_factor=settings.replication, config=changelog_config())
        for name in names
    ]
    for name, future in admin.create_topics(new, operation_timeout=TIMEOUT_S).items():
        _created(name, future)
    wait_known(admin, set(names))


def _created(name: str, future: "Future[None]") -> None:
    try:
        future.result(timeout=2 * TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise InfrastructureAway(f"the topic {name} cannot be created: {error.args[0].str()}") from error
