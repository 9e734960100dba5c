"""Reads the topic `changes` for one job, piece by piece; the cursor is a place in every partition."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.contracts import ItemChanged, decode
from odradek.errors import InfrastructureAway
from odradek.kafka.client import consumer_config
from odradek.settings import Settings
from odradek.topics import CHANGES
from odradek_api.core.cursors import cursor_of, place_in

PATIENCE_S = 2.0
TIMEOUT_S = 5.0
MOST = 500

Found = dict[str, Any]


class ChangeFeed:
    """Blocking: called in threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def after(self, job: str, since_ms: int | None, cursor: str | None, limit: int) -> Found:
        """{data, next_cursor, at_end, lost}: changes told since then, or after a cursor; at_end: there are no more now.

        `lost`: so many changes, of all jobs, were deleted after the cursor was given and before they were read. Among
        millions of changes of other jobs a piece may be short, or empty.

        Raises:
            Problem: 400 for a cursor that is none.
            InfrastructureAway: Kafka does not answer.
        """
        group = f"{self._settings.topic_prefix}changes-read"
        consumer = Consumer(consumer_config(self._settings, group) | {"partition.assignment.strategy": "range"})
        try:
            places, ends, lost = self._bounds(consumer, since_ms, cursor)
            data = self._read(consumer, job, places, ends, limit)
        except KafkaException as error:
            raise InfrastructureAway(str(error)) from error
        finally:
            consumer.close()
        at_end = all(places[part] >= end for part, end in ends.items())
        return {"data": data, "next_cursor": _cursor(places), "at_end": at_end, "lost": lost}

    def _bounds(
        self, consumer: Consumer, since_ms: int | None, cursor: str | None
    ) -> tuple[dict[int, int], dict[int, int], int]:
        """Where to begin, where the topic ends now, and how much is lost in between."""
        name = self._settings.topic(CHANGES)
        parts = sorted(consumer.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions)
        marks = {part: consumer.get_watermark_offsets(TopicPartition(name, part), timeout=TIMEOUT_S) for part in parts}
        ends = {part: high for part, (_, high) in marks.items()}
        if cursor is not None:
            places, lost = going_on({part: low for part, (low, _) in marks.items()}, _places(cursor, len(parts)))
            return places, ends, lost
        if since_ms is None:
            return {part: low for part, (low, _) in marks.items()}, ends, 0
        asked = [TopicPartition(name, part, since_ms) for part in parts]
        later = {each.partition: each.offset for each in consumer.offsets_for_times(asked, timeout=TIMEOUT_S)}
        return {part: later[part] if later[part] >= 0 else end for part, end in ends.items()}, ends, 0

    def _read(
        self, consumer: Consumer, job: str, places: dict[int, int], ends: dict[int, int], limit: int
    ) -> list[Found]:
        name, data, mine = self._settings.topic(CHANGES), list[Found](), f"{job}:".encode()
        left = {part for part, end in ends.items() if places[part] < end}
        consumer.assign([TopicPartition(name, part, places[part]) for part in left])
        until = time.monotonic() + PATIENCE_S
        while left and len(data) < limit and time.monotonic() < until:
            for message in consumer.consume(MOST, timeout=0.1):
                if len(data) >= limit:
                    break
                if message.error() is None:
                    part = message.partition() or 0
                    places[part] = (message.offset() or 0) + 1
                    if places[part] >= ends[part]:
                        left.discard(part)
                    if (message.key() or b"").startswith(mine):
                        data.append(_shown(message.value() or b""))
        return data


def going_on(lows: Mapping[int, int], known: Sequence[int]) -> tuple[dict[int, int], int]:
    """Where a reader goes on in each partition, and how many records retention has deleted before they were read."""
    places = {part: max(low, known[part]) for part, low in lows.items()}
    return places, sum(place - known[part] for part, place in places.items())


def _shown(value: bytes) -> Found:
    change = msgspec.structs.asdict(decode(ItemChanged, value))
    return {"id": change.pop("id"), "job_id": change.pop("job"), **change}


def _cursor(places: dict[int, int]) -> str:
    return cursor_of([places[part] for part in sorted(places)])


def _places(cursor: str, count: int) -> list[int]:
    return place_in(
        cursor, lambda place: len(place) == count and all(type(each) is int and 0 <= each < 1 << 62 for each in place)
    )
