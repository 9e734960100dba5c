"""Makes the topic table true: creates what is missing, and says what differs."""

import time
from collections.abc import Iterable
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs re-export without saying so
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.client import connection_config
from odradek.settings import Settings
from odradek.topics import TOPICS, Topic

TIMEOUT_S = 20.0
ANNOUNCED_S = 120.0
"""On a busy machine a broker may take most of a minute to lead the topics that it has created."""


def apply_topics(settings: Settings) -> list[str]:
    """Create the topics that do not exist and wait until every broker knows them; returns the names created.

    Raises:
        InfrastructureAway: the brokers do not answer.
        UserError: a topic exists with fewer partitions than the others, or another clean-up policy.
    """
    admin = AdminClient(connection_config(settings))
    existing = _existing(admin)
    missing = [topic for topic in TOPICS.values() if settings.topic(topic.name) not in existing]
    if missing:
        futures = admin.create_topics([_new(topic, settings) for topic in missing], operation_timeout=TIMEOUT_S)
        for name, future in futures.items():
            _created(name, future)
        wait_known(admin, {settings.topic(topic.name) for topic in missing})
    differing = differences(settings)
    if differing:
        raise UserError(f"Topics differ from what Odradek needs: {'; '.join(differing)}.", exit_code=1)
    return [settings.topic(topic.name) for topic in missing]


def partitions_of(settings: Settings, topic: str) -> int:
    """How many partitions a topic (name without prefix) has; 0: it does not exist.

    Raises:
        InfrastructureAway: the brokers do not answer, or not in time.
    """
    return _existing(AdminClient(connection_config(settings))).get(settings.topic(topic), 0)


def differences(settings: Settings) -> list[str]:
    """How the topics on the brokers differ from the table, a sentence each; empty: they do not.

    Raises:
        InfrastructureAway: the brokers do not answer, or not in time.
    """
    admin = AdminClient(connection_config(settings))
    existing = _existing(admin)
    found = [f"{settings.topic(name)} is missing" for name in TOPICS if settings.topic(name) not in existing]
    present = [topic for topic in TOPICS.values() if settings.topic(topic.name) in existing]
    keyed = {existing[settings.topic(topic.name)] for topic in present if topic.partitions is None}
    if len(keyed) > 1:
        counts = ", ".join(
            f"{settings.topic(topic.name)} {existing[settings.topic(topic.name)]}"
            for topic in present
            if topic.partitions is None
        )
        found.append(f"partition counts are not the same ({counts})")
    return found + differing_configs(admin, settings, present)


def _existing(admin: AdminClient) -> dict[str, int]:
    try:
        topics = admin.list_topics(timeout=TIMEOUT_S).topics
    except KafkaException as error:
        raise InfrastructureAway(f"Kafka does not answer: {error}") from error
    return {name: len(topic.partitions) for name, topic in topics.items()}


def _new(topic: Topic, settings: Settings) -> NewTopic:
    return NewTopic(
        settings.topic(topic.name),
        num_partitions=topic.partitions or settings.partitions,
        replication_factor=settings.replication,
        config=topic.config(),
    )


def _created(name: str, future: "Future[None]") -> None:
    try:
        future.result(timeout=TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        raise InfrastructureAway(f"the topic {name} cannot be created: {error.args[0].str()}") from error
    except TimeoutError as error:
        raise InfrastructureAway(f"the brokers do not create the topic {name} in time") from error


def wait_known(admin: AdminClient, names: set[str]) -> None:
    """Wait until topics just created, by whomever, are announced and led; `names` are full.

    Raises:
        InfrastructureAway: the brokers do not answer, or not in time.
    """
    deadline = time.monotonic() + ANNOUNCED_S
    while time.monotonic() < deadline:
        try:
            topics = admin.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as error:
            raise InfrastructureAway(f"Kafka does not answer: {error}") from error
        if names <= set(topics) and _led(admin, [topics[name] for name in names]):
            return
        time.sleep(0.05)
    raise InfrastructureAway("the brokers do not announce the topics just created")


def _led(admin: AdminClient, topics: Iterable[TopicMetadata]) -> bool:
    """True once the leader of every partition answers for it; metadata is early by some tenths of a second."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # its stubs leave it out
    asked = {TopicPartition(str(topic.topic), part): latest for topic in topics for part in topic.partitions}
    try:
        for future in admin.list_offsets(asked).values():
            future.result(timeout=TIMEOUT_S)
    except (KafkaException, TimeoutError):
        return False
    return True


def differing_configs(admin: AdminClient, settings: Settings, topics: list[Topic]) -> list[str]:
    """The settings of these topics that are other than needed, a sentence each.

    Raises:
        InfrastructureAway: the brokers do not answer, or not in time: one has just died, or comes back.
    """
    resources = {ConfigResource(ResourceType.TOPIC, settings.topic(topic.name)): topic for topic in topics}
    if not resources:
        return []
    found = []
    for resource, future in admin.describe_configs(list(resources)).items():
        try:
            entries = future.result(timeout=TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            raise InfrastructureAway(f"the brokers do not tell the settings of {resource.name} in time") from error
        for name, wanted in resources[resource].config().items():
            have = entries[name].value
            if name in ("cleanup.policy", "max.message.bytes") and have != wanted:
                found.append(f"{resource.name} has {name}={have} where {wanted} is needed")
    return found
