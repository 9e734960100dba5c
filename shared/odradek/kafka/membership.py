"""Being a member of a group, by one client after another: librdkafka's may wait for ever for a coordinator.

After a broker was started again it happened that a client, whose group had forgotten it meanwhile, had a request to the
coordinator in its queue and never connected, for as long as one waited: its process was ready and got no partition.
"""

from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Any

from confluent_kafka import Consumer, KafkaException

REJOIN_S = 60.0
"""How long a group that has forgotten us may take to take us back while its brokers answer."""
ASK_S = 5.0


class Membership:
    """Used from the consumer's thread only, but for the callbacks of a client that is being left."""

    def __init__(self, make: Callable[[dict[str, Any]], Consumer] = Consumer, rejoin_s: float = REJOIN_S) -> None:
        self._make, self._rejoin_s = make, rejoin_s
        self._consumer: Consumer | None = None
        self._lost_at: float | None = None
        """Until the group speaks to us again."""
        self._forgotten = False

    def join(self, config: dict[str, Any]) -> Consumer:
        """A client of its own for a new member."""
        self._consumer, self._lost_at, self._forgotten = self._make(config), None, False
        return self._consumer

    def is_by(self, consumer: Consumer) -> bool:
        """False for a client that was left before."""
        return consumer is self._consumer

    def lost(self) -> None:
        """The group has forgotten us."""
        self._lost_at = monotonic()

    def heard(self) -> None:
        """The group has said what is ours."""
        self._lost_at = None

    def forgotten(self, topic: str) -> bool:
        """True when the group has not taken us back for so long, and not because brokers are away."""
        if self._lost_at is None or monotonic() < self._lost_at + self._rejoin_s or self._consumer is None:
            return False
        try:
            self._consumer.list_topics(topic, timeout=ASK_S)
        except KafkaException:
            self._lost_at = monotonic()
            return False
        self._forgotten = True
        return True

    def leave(self, consumer: Consumer) -> None:
        """Leave the group; whoever waits for its coordinator would wait for it then, too, so that is not waited for."""
        if self._forgotten:
            Thread(target=consumer.close, name="leaving", daemon=True).start()
        else:
            consumer.close()
