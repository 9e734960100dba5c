"""Asks the owners of frontier partitions, and waits for their answers on a topic; two seconds at most."""

import asyncio
from threading import Event, Thread
from typing import Any

import msgspec
import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.contracts import Answer, Question, decode, encode
from odradek.kafka.client import consumer_config
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.topics import ANSWERS, QUESTIONS
from odradek_api.ports import Log

PATIENCE_S = 2.0
POLL_S = 0.2
TIMEOUT_S = 5.0
log = structlog.get_logger()


class Asker:
    """Sends questions with their partition, and gives every answer to whoever waits for its id."""

    def __init__(self, settings: Settings, kafka: Log) -> None:
        self._settings, self._kafka = settings, kafka
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._listening, self._stopping = Event(), Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._listen, name="answers", daemon=True)

    def start(self) -> None:
        """Begin to listen; called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Stop listening."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=TIMEOUT_S)

    @property
    def listening(self) -> bool:
        """True once answers are heard; before that every question is as if nobody answered."""
        return self._listening.is_set()

    async def ask(self, questions: dict[int, Question], patience_s: float = PATIENCE_S) -> dict[int, dict[str, Any]]:
        """One question for each partition; the bodies of the answers that came in time.

        Raises:
            InfrastructureAway: Kafka did not take the questions.
        """
        if not self.listening:
            return {}
        loop = asyncio.get_running_loop()
        futures = {partition: loop.create_future() for partition in questions}
        self._waiting |= {questions[partition].id: future for partition, future in futures.items()}
        try:
            await self._kafka.send(
                [
                    Send(QUESTIONS, question.key or question.id, encode(question), partition=partition)
                    for partition, question in questions.items()
                ]
            )
            await asyncio.wait(futures.values(), timeout=patience_s)
            return {partition: future.result() for partition, future in futures.items() if future.done()}
        finally:
            for question in questions.values():
                self._waiting.pop(question.id, None)

    def _listen(self) -> None:
        config = {"partition.assignment.strategy": "range", "group.id": f"{self._settings.topic_prefix}answers"}
        consumer = Consumer(consumer_config(self._settings, config["group.id"]) | config)
        try:
            self._assign(consumer)
            while not self._stopping.is_set():
                message = consumer.poll(POLL_S)
                if message is not None and message.error() is None and self._loop is not None:
                    self._loop.call_soon_threadsafe(self._answered, message.value() or b"")
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer) -> None:
        """Begin at the ends as they are now, so that no answer to a later question is missed."""
        name = self._settings.topic(ANSWERS)
        while not self._stopping.is_set():
            try:
                parts = [
                    TopicPartition(name, part) for part in consumer.list_topics(name, TIMEOUT_S).topics[name].partitions
                ]
                for part in parts:
                    part.offset = consumer.get_watermark_offsets(part, timeout=TIMEOUT_S)[1]
            except KafkaException as error:
                log.warning("answers_wait_for_kafka", error=str(error))
                parts = []
            if parts:
                consumer.assign(parts)
                self._listening.set()
                return
            self._stopping.wait(1.0)

    def _answered(self, value: bytes) -> None:
        try:
            answer = decode(Answer, value)
        except msgspec.DecodeError as error:
            log.warning("answer_refused", error=str(error))
            return
        future = self._waiting.get(answer.id)
        if future is not None and not future.done():
            future.set_result(answer.body)
