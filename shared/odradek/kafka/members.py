"""Who is at work: the members of the services' consumer groups."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from odradek.kafka.client import connection_config
from odradek.settings import Settings
from odradek.topics import FRONTIER, GATEWAYS_GROUP, GROUPS, ITEMS, PAGES, SCHEDULED

TIMEOUT_S = 3.0
WORKED_THROUGH = (FRONTIER, SCHEDULED, PAGES, ITEMS)
"""Topics whose groups tell of every service that works by itself."""


class Groups:
    """Asks the brokers for the members of consumer groups. Blocking.

    librdkafka's newer question to a group's coordinator ends the whole process when the connection breaks in the midst
    of it (its issue 4605), so this is its older one to every broker.
    """

    def __init__(self, settings: Settings) -> None:
        # Without a callback librdkafka writes every attempt to standard error.
        self._admin = AdminClient(connection_config(settings) | {"log_level": 0, "error_cb": lambda _: None})

    def names(self, group: str) -> list[str]:
        """The client ids of a group's members (named with prefix); nobody where there is no such group.

        Raises:
            KafkaException: the brokers do not tell.
        """
        groups = self._admin.list_groups(group, TIMEOUT_S)
        return [str(member.client_id) for found in groups for member in found.members]


class Members:
    """Counts the processes of each service."""

    def __init__(self, settings: Settings) -> None:
        self._kafka = Groups(settings)
        self._groups = {settings.group(GROUPS[topic]): GROUPS[topic].partition(".")[0] for topic in WORKED_THROUGH}
        self._groups[settings.group(GATEWAYS_GROUP)] = "api"

    def count(self) -> dict[str, int | str]:
        """By service the number of its processes; a sentence where a group cannot be asked."""
        found: dict[str, int | str] = {}
        for group, service in self._groups.items():
            try:
                found[service] = len(self._kafka.names(group))
            except KafkaException as error:
                found[service] = f"cannot be asked: {error.args[0].str()}"
        return found
