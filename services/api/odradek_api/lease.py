"""One gateway of several does what must be done once: who has the single partition of `jobs` in a consumer group."""

from threading import Event, Thread
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException

from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.kafka.members import Groups
from odradek.settings import Settings
from odradek.topics import JOBS

POLL_S = 0.2
STOP_S = 5.0
log = structlog.get_logger()


class Lease:
    """Held by one member of the group at a time; a member that falls silent loses it with its session."""

    def __init__(self, settings: Settings, group: str, name: str = "") -> None:
        self._settings, self._group, self._name = settings, settings.group(group), name
        self._held, self._stopping = Event(), Event()
        self._groups = Groups(settings)
        self._thread = Thread(target=self._run, name=f"lease-{group}", daemon=True)

    def start(self) -> None:
        """Ask for it from now on."""
        self._thread.start()

    @property
    def held(self) -> bool:
        """True while it is this process's."""
        return self._held.is_set()

    def members(self) -> frozenset[str]:
        """Names of all that ask for it, the holder among them. Blocking.

        Raises:
            InfrastructureAway: Kafka does not tell.
        """
        try:
            return frozenset(self._groups.names(self._group))
        except KafkaException as error:
            raise InfrastructureAway(str(error)) from error

    def stop(self) -> None:
        """Give it up."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=STOP_S)

    def _run(self) -> None:
        config = consumer_config(self._settings, self._group) | {
            "partition.assignment.strategy": "range", "client.id": self._name or "odradek",
        }  # fmt: skip
        consumer = Consumer(config)
        try:
            consumer.subscribe(
                [self._settings.topic(JOBS)], on_assign=self._assigned, on_revoke=self._taken, on_lost=self._taken
            )
            while not self._stopping.is_set():
                consumer.poll(POLL_S)
        except KafkaException as error:
            log.warning("lease_lost", group=self._group, error=str(error))
        finally:
            self._held.clear()
            consumer.close()

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        """Nothing is read: the membership is all that is wanted."""
        consumer.assign(partitions)
        consumer.pause(partitions)
        if _counts(partitions):
            self._held.set()
            log.info("lease_held", group=self._group)

    def _taken(self, consumer: Any, partitions: list[Any]) -> None:  # noqa: ARG002  (the library's signature)
        if _counts(partitions):
            self._held.clear()
            log.info("lease_given_up", group=self._group)


def _counts(partitions: list[Any]) -> bool:
    """The first partition is the lease; there is no other."""
    return any(each.partition == 0 for each in partitions)
