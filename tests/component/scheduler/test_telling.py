"""What follows from a batch for other partitions leaves as it is folded, so before it is committed."""

from typing import Any

from tests.unit.scheduler.harness import MemoryTables

from odradek.contracts import Batch, Discovered, SitemapsListed, encode
from odradek.kafka.records import Record
from odradek.topics import FRONTIER
from odradek.urls import partition_of
from odradek_scheduler.core.effects import ToPartition
from odradek_scheduler.core.partition import Limits
from odradek_scheduler.owned import Ownership

PARTITIONS = 4
LISTED = SitemapsListed(
    job="j", key="a.example", origin="https://a.example",
    sitemaps=("https://a.example/s.xml", "https://cdn.example/s.xml", "nonsense"),
)  # fmt: skip


class Tables(MemoryTables):
    """The tables of all partitions, one like the other."""

    def take_foreign(self) -> set[int]:
        return set()

    def of(self, partition: int) -> "Tables":
        return self

    def apply(self, partition: int, writes: Any, producer: Any) -> None:
        self.write(writes)


class Sent:
    """Notes what is told."""

    producer = None

    def __init__(self) -> None:
        self.told: list[ToPartition] = []

    def tell(self, facts: list[ToPartition]) -> None:
        self.told += facts


def test_sitemaps_leave_for_the_partitions_of_their_hosts_with_every_fold_of_the_batch() -> None:
    sent = Sent()
    for _ in range(2):
        ownership = Ownership(Tables(), sent, PARTITIONS, Limits())  # type: ignore[arg-type]
        ownership.settle({1})
        ownership.fold(Record(FRONTIER, 1, 0, b"", encode(Batch(facts=(LISTED,))), ()))

    keys = ["a.example", "cdn.example"]
    assert [
        (each.partition, each.fact.key, each.fact.run) for each in sent.told if isinstance(each.fact, Discovered)
    ] == [(partition_of(key, PARTITIONS), key, -1) for key in keys * 2]
