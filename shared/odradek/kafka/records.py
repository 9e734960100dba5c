"""The values between a service and Kafka: a record comes in, stages of sends go out.

A handler never sends. It returns a `Done`; the runner sends stage after stage, each acknowledged by Kafka before
the next one leaves, and only then counts the record as finished and commits (rule E).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from odradek.contracts.frontier import Fact

if TYPE_CHECKING:  # cores know records, and nothing that reads or writes
    from confluent_kafka import Message


class Record(msgspec.Struct, frozen=True, gc=False):
    """One message as it lies in a partition. There are as many of these as messages, so all here are cheap to make."""

    topic: str
    """Full name, prefix included."""
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int = 0
    inherited: bool = False
    """It was there before its partition became ours: another may have handled it, or begun to."""

    def header(self, name: str) -> bytes | None:
        """The first header of this name, or None."""
        return next((value for key, value in self.headers if key == name), None)


class Send(msgspec.Struct, frozen=True):
    """One message to produce. `topic` is a name of `odradek.topics`, without prefix."""

    topic: str
    key: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    """The schema header is added by the runner."""
    partition: int | None = None
    """None: by the key (`odradek.urls.partition_of`)."""


class ToFrontier(msgspec.Struct, frozen=True):
    """One fact for the partition that owns a politeness key. The runner packs the facts of a stage into batches."""

    key: str
    fact: Fact


class Stage(msgspec.Struct, frozen=True):
    """Messages that may travel together; all are acknowledged before the next stage leaves."""

    sends: tuple[Send, ...] = ()
    facts: tuple[ToFrontier, ...] = ()
    acknowledged: Callable[[], None] | None = None
    """Called once Kafka has acknowledged the whole stage."""


class Done(msgspec.Struct, frozen=True):
    """A record is handled: these stages, then its offset may be committed."""

    record: Record
    stages: tuple[Stage, ...] = ()


class Poison(msgspec.Struct, frozen=True):
    """A record that can never be handled: dead letter with this reason, after `stages` (its terminal facts) are out."""

    record: Record
    reason: str
    error: str
    stages: tuple[Stage, ...] = ()


def record_of(message: "Message", *, inherited: bool = False) -> Record:
    """confluent-kafka's message as a value of ours."""
    headers: Any = message.headers() or ()
    return Record(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=tuple((name, value if value is not None else b"") for name, value in headers),
        timestamp_ms=message.timestamp()[1],
        inherited=inherited,
    )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
