"""What leaves the scheduler, each message with its partition; nothing is awaited here, a flush settles it."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from odradek.contracts import Fact, FetchRequest, LogEvent, encode
from odradek.kafka.packing import MAX_FACTS, batch_for
from odradek.kafka.records import Send
from odradek.topics import LOGS, SCHEDULED
from odradek.urls import partition_of
from odradek_scheduler.core.partition import Dispatched, ToPartition
from odradek_scheduler.producer import AcknowledgedProducer


class Outbox:
    """Sends through Faust's producer. `counts`: partitions of each topic, by name without prefix."""

    def __init__(self, producer: AcknowledgedProducer, counts: dict[str, int]) -> None:
        self.producer = producer
        self._counts = counts

    def send(self, sends: Iterable[Send]) -> None:
        """Produce; where no partition is set, the key decides."""
        self.producer.send_all(
            [
                send if send.partition is not None else replace(send, partition=self._partition(send.topic, send.key))
                for send in sends
            ]
        )

    def dispatch(self, dispatched: Dispatched) -> None:
        """Requests, facts and events of one dispatch."""
        if dispatched.requests:
            self.send(self._requests(dispatched.requests))
        if dispatched.facts:
            self.tell(dispatched.facts)
        if dispatched.events:
            self.send(self._events(dispatched.events))

    def tell(self, facts: Sequence[ToPartition]) -> None:
        """Facts for frontier partitions."""
        self.send(_batches(facts))

    async def flush(self) -> None:
        """Wait until everything sent before is acknowledged."""
        await self.producer.flush()

    def _partition(self, topic: str, key: str) -> int:
        return partition_of(key, self._counts[topic])

    def _requests(self, requests: Sequence[FetchRequest]) -> Iterable[Send]:
        return (
            Send(SCHEDULED, each.fp, encode(each), partition=self._partition(SCHEDULED, each.fp)) for each in requests
        )

    def _events(self, events: Sequence[LogEvent]) -> Iterable[Send]:
        return (Send(LOGS, event.odradek.job_id + (event.odradek.fingerprint or ""), encode(event)) for event in events)


def _batches(facts: Sequence[ToPartition]) -> Iterable[Send]:
    by_partition: dict[int, list[Fact]] = {}
    for partition, fact in facts:
        by_partition.setdefault(partition, []).append(fact)
    for partition, mine in by_partition.items():
        for start in range(0, len(mine), MAX_FACTS):
            yield batch_for(partition, mine[start : start + MAX_FACTS])
