"""Who is at work: the members of the services' consumer groups."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from odradek.kafka.client import connection_config
from odradek.settings import Settings
from odradek.topics import FRONTIER, GATEWAYS_GROUP, GROUPS, ITEMS, PAGES, SCHEDULED

TIMEOUT_S = 3.0
WORKED_THROUGH = (FRONTIER, SCHEDULED, PAGES, ITEMS)
"""Topics whose groups tell of every service that works by itself."""


class Members:
    """Asks the brokers. Blocking."""

    def __init__(self, settings: Settings) -> None:
        # Without a callback librdkafka writes every attempt to standard error.
        self._admin = AdminClient(connection_config(settings) | {"log_level": 0, "error_cb": lambda _: None})
        self._groups = {settings.group(GROUPS[topic]): GROUPS[topic].partition(".")[0] for topic in WORKED_THROUGH}
        self._groups[settings.group(GATEWAYS_GROUP)] = "api"

    def count(self) -> dict[str, int | str]:
        """By service the number of its processes; a sentence where a group cannot be asked."""
        found: dict[str, int | str] = {}
        asked = self._admin.describe_consumer_groups(list(self._groups), request_timeout=TIMEOUT_S)
        for group, future in asked.items():
            try:
                found[self._groups[group]] = len(future.result().members)
            except KafkaException as error:
                found[self._groups[group]] = f"cannot be asked: {error.args[0].str()}"
        return found
