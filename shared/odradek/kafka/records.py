"""The values between a service and Kafka: a record comes in, stages of sends go out.

A handler never sends. It returns a `Done`; the runner sends stage after stage, each acknowledged by Kafka before
the next one leaves, and only then counts the record as finished and commits (rule E).
"""

from collections.abc import Callable

import msgspec

from odradek.contracts.frontier import Fact


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
