"""How Faust meets Kafka here: aiokafka reads, librdkafka writes."""

import ssl
from typing import Any

import faust
from aiokafka.structs import TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from yarl import URL

from odradek.settings import Settings


class ChangelogsAtRest(driver.Consumer):
    """A consumer that can stop fetching changelogs.

    Faust leaves them assigned and only drops what it did not ask for; then aiokafka holds back every fetch for up to
    0.1 s each time a changelog brings something that nobody takes (aiokafka/consumer/fetcher.py, `prefetch_backoff`).
    """

    def rest(self, changelogs: set[TP]) -> None:
        """Fetch nothing from these partitions until the next rebalance."""
        kafka = self._thread._ensure_consumer()  # noqa: SLF001  (Faust has no door to it)
        parts = [TopicPartition(tp.topic, tp.partition) for tp in changelogs]
        self._thread.thread_loop.call_soon_threadsafe(lambda: kafka.pause(*parts))

    async def on_stop(self) -> None:
        """Leave the group: a member that keeps its name would else be waited for until its session is over."""
        self._thread._ensure_consumer()._coordinator._group_instance_id = None  # noqa: SLF001  (as above)
        await super().on_stop()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Faust would take a changelog at rest, or a quiet crawl, for an error."""


class Transport(driver.Transport):
    """Aiokafka's transport with that consumer."""

    Consumer = ChangelogsAtRest


def credentials(settings: Settings) -> Any:
    """TLS and SASL as aiokafka wants them; None: plain text."""
    protocol = settings.kafka_security_protocol
    context = _tls(settings) if protocol in ("SSL", "SASL_SSL") else None
    if protocol.startswith("SASL"):
        password = settings.kafka_security_password
        return faust.SASLCredentials(
            mechanism=settings.kafka_security_mechanism or "PLAIN",
            username=settings.kafka_security_username,
            password=None if password is None else password.get_secret_value(),
            ssl_context=context,
        )
    return None if context is None else faust.SSLCredentials(context)


def broker_urls(settings: Settings) -> list[URL]:
    """The brokers as Faust spells them."""
    return [URL(f"kafka://{broker.strip()}") for broker in settings.kafka_bootstrap.split(",")]


def _tls(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=_path(settings.kafka_security_ca))
    if settings.kafka_security_certificate is not None:
        context.load_cert_chain(str(settings.kafka_security_certificate), _path(settings.kafka_security_key))
    return context


def _path(path: Any) -> str | None:
    return None if path is None else str(path)
