"""A broker that dies in the midst of a question about topics is away; that is no bug."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]  # its stubs re-export without saying so

from odradek.errors import InfrastructureAway
from odradek.kafka.admin import differing_configs
from odradek.settings import Settings
from odradek.topics import TOPICS


class AskedInVain:
    """An admin client whose brokers never answer this question."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def describe_configs(self, resources: list[ConfigResource]) -> dict[ConfigResource, "Future[Any]"]:
        """Futures that end as librdkafka's do."""
        answer: Future[Any] = Future()
        answer.set_exception(self._error)
        return dict.fromkeys(resources, answer)


@pytest.mark.parametrize("error", [TimeoutError(), KafkaException(KafkaError(KafkaError._TRANSPORT))])
def test_brokers_that_do_not_tell_in_time_are_away(error: Exception) -> None:
    with pytest.raises(InfrastructureAway, match=r"do not tell the settings of odradek\."):
        differing_configs(AskedInVain(error), Settings.read({}), list(TOPICS.values()))  # type: ignore[arg-type]  # what it asks of one
