"""How confluent-kafka is configured here: commits by hand, acknowledged by all replicas, nothing automatic."""

import logging
from typing import Any

from odradek.settings import Settings
from odradek.topics import MAX_MESSAGE_BYTES

ENVELOPE_BYTES = 1024 * 1024
"""Headers and framing above the largest value."""


def connection_config(settings: Settings) -> dict[str, Any]:
    """Brokers and security, for consumers, producers and administration."""
    config: dict[str, Any] = {
        "bootstrap.servers": settings.kafka_bootstrap,
        "security.protocol": settings.kafka_security_protocol,
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 1000,  # at the default of 100 a client that waits takes 2 % of a core
        "reconnect.backoff.max.ms": 2000,
        "logger": logging.getLogger("librdkafka"),
    }
    password = settings.kafka_security_password
    optional = {
        "ssl.ca.location": settings.kafka_security_ca,
        "ssl.certificate.location": settings.kafka_security_certificate,
        "ssl.key.location": settings.kafka_security_key,
        "sasl.mechanism": settings.kafka_security_mechanism,
        "sasl.username": settings.kafka_security_username,
        "sasl.password": None if password is None else password.get_secret_value(),
    }
    return config | {name: str(value) for name, value in optional.items() if value is not None}


FULL_BYTES = 64 * 1024
WAIT_MS = 500


def consumer_config(settings: Settings, group: str, wait_ms: int | None = None) -> dict[str, Any]:
    """A member of a group that commits only what the runner tells it to.

    `wait_ms`: for those that gather batches anyway, the broker answers when it has 64 KiB or after so long. Otherwise
    it answers for each batch of each producer, and an answer costs as much as fifty records in it.
    """
    return connection_config(settings) | {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": int(settings.session_timeout * 1000),
        "heartbeat.interval.ms": int(settings.session_timeout * 1000 / 5),
        "max.poll.interval.ms": 300_000,
        "fetch.min.bytes": 1 if wait_ms is None else FULL_BYTES,
        "fetch.wait.max.ms": WAIT_MS if wait_ms is None else wait_ms,
        "fetch.message.max.bytes": 512 * 1024,  # of a partition, compressed: unpacked it may be ten times as much
        "fetch.max.bytes": MAX_MESSAGE_BYTES,
        "queued.max.messages.kbytes": 32_768,
        "receive.message.max.bytes": 2 * MAX_MESSAGE_BYTES + ENVELOPE_BYTES,
    }


def producer_config(settings: Settings) -> dict[str, Any]:
    """Idempotent, acknowledged by all replicas, lz4; a stage is produced at once, so batches fill without waiting."""
    return connection_config(settings) | {
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": "lz4",
        "linger.ms": 1,
        "batch.num.messages": 10_000,
        "message.max.bytes": MAX_MESSAGE_BYTES,
        "queue.buffering.max.messages": 200_000,
        "queue.buffering.max.kbytes": 262_144,
        "delivery.timeout.ms": 120_000,
    }
