"""Questions and answers over a broker: each answer finds who asked, and silence has an end."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from odradek.contracts import Answer, Question, decode, encode
from odradek.kafka.producer import StageProducer
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.testing.broker import MockBroker, everything_in, put
from odradek.topics import ANSWERS, QUESTIONS
from odradek_api.asking import Asker


@pytest.fixture
async def world() -> AsyncIterator[tuple[Settings, Asker]]:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, Send(ANSWERS, "k", encode(Answer(id="old", partition=0, body={}))))
        producer = StageProducer(settings)
        asker = Asker(settings, producer)
        asker.start()
        async with asyncio.timeout(10):
            while not asker.listening:  # noqa: ASYNC110  (the other side is a thread)
                await asyncio.sleep(0.01)
        yield settings, asker
        await asyncio.to_thread(asker.stop)
        await asyncio.to_thread(producer.close)


async def test_an_answer_comes_back_to_its_question_and_a_silent_partition_is_left_out(
    world: tuple[Settings, Asker],
) -> None:
    settings, asker = world
    questions = {part: Question(id=f"q{part}", kind="urls", job="j") for part in range(3)}

    asking = asyncio.create_task(asker.ask(questions, patience_s=8.0))
    asked = await asyncio.to_thread(everything_in, settings, QUESTIONS, at_least=3)
    strange = (b"no answer at all", encode(Answer(id="another's", partition=0, body={})))
    answers = [encode(Answer(id=f"q{part}", partition=part, body={"n": part})) for part in (2, 0)]
    await asyncio.to_thread(put, settings, *(Send(ANSWERS, "k", value) for value in (*strange, *answers)))

    assert [(each.partition, decode(Question, each.value or b"").id) for each in asked] == [
        (0, "q0"),
        (1, "q1"),
        (2, "q2"),
    ]
    assert await asking == {0: {"n": 0}, 2: {"n": 2}}


async def test_who_is_not_answered_at_all_waits_no_longer_than_its_patience(world: tuple[Settings, Asker]) -> None:
    _, asker = world

    async with asyncio.timeout(5):
        assert await asker.ask({0: Question(id="q", kind="urls", job="j")}, patience_s=0.2) == {}
