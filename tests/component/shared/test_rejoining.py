"""A member that its group has forgotten, and whose client never comes back to it, joins anew."""

import asyncio
from collections.abc import Callable
from typing import Any

from confluent_kafka import TopicPartition

from odradek.kafka.intake import Intake
from odradek.kafka.membership import Membership
from odradek.kafka.window import Window
from odradek.settings import Settings
from odradek.topics import SCHEDULED

Told = Callable[[Any, list[TopicPartition]], None]


class Client:
    """Is given partition 0, loses it at the next poll, and hears nothing of its group then."""

    def __init__(self, *, loses: bool) -> None:
        self._loses, self._polls = loses, 0
        self.closed = False

    def subscribe(self, topics: list[str], on_assign: Told, on_revoke: Told, on_lost: Told) -> None:
        self._part = TopicPartition(topics[0], 0)
        self._assign, self._revoke, self._lost = on_assign, on_revoke, on_lost

    def poll(self, _timeout_s: float) -> None:
        self._polls += 1
        if self._polls == 1:
            self._assign(self, [self._part])
        elif self._polls == 2 and self._loses:
            self._lost(self, [self._part])

    def committed(self, parts: list[TopicPartition], **_: object) -> list[TopicPartition]:
        return parts

    def list_topics(self, *_: object, **__: object) -> None:
        """The brokers answer."""

    def get_watermark_offsets(self, *_: object, **__: object) -> tuple[int, int]:
        return 0, 0

    def resume(self, _parts: list[TopicPartition]) -> None: ...

    def commit(self, **_: object) -> list[TopicPartition]:
        return []

    def close(self) -> None:
        self.closed = True


async def test_who_was_forgotten_and_is_not_taken_back_joins_as_somebody_else() -> None:
    made: list[Client] = []

    def make(_: dict[str, Any]) -> Any:
        made.append(Client(loses=not made))
        return made[-1]

    intake = Intake(Settings(), "parser", SCHEDULED, Window(10), lambda _: None, membership=Membership(make, 0.2))
    intake.start()
    async with asyncio.timeout(10):
        while len(made) < 2 or intake.hand.partitions() != {0} or not made[0].closed:  # noqa: ASYNC110  (a thread sets no event)
            await asyncio.sleep(0.01)
    intake.stop()
    await intake.left()

    assert (len(made), made[1].closed) == (2, True)


async def test_who_is_a_member_stays_one() -> None:
    made: list[Client] = []

    def make(_: dict[str, Any]) -> Any:
        made.append(Client(loses=False))
        return made[-1]

    intake = Intake(Settings(), "parser", SCHEDULED, Window(10), lambda _: None, membership=Membership(make, 0.0))
    intake.start()
    async with asyncio.timeout(10):
        while made == [] or made[0]._polls < 5:  # noqa: ASYNC110  (as above)
            await asyncio.sleep(0.01)
    intake.stop()
    await intake.left()

    assert len(made) == 1
