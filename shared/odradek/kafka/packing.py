"""Facts into batches: one record for each frontier partition instead of one for each fact (rule L)."""

from collections.abc import Iterable

from odradek.contracts import Batch, Fact, encode
from odradek.kafka.records import Send, ToFrontier
from odradek.topics import FRONTIER
from odradek.urls import partition_of

MAX_FACTS = 500
MAX_BATCH_BYTES = 512 * 1024


def pack(facts: Iterable[ToFrontier], partitions: int) -> list[Send]:
    """Facts by partition, in their order, at most `MAX_FACTS` to a batch."""
    by_partition: dict[int, list[ToFrontier]] = {}
    for fact in facts:
        by_partition.setdefault(partition_of(fact.key, partitions), []).append(fact)
    return [
        send
        for partition, mine in by_partition.items()
        for start in range(0, len(mine), MAX_FACTS)
        for send in _sends(mine[start : start + MAX_FACTS], partition)
    ]


def batch_for(partition: int, facts: Iterable[Fact], key: str = "") -> Send:
    """One batch for a partition that the caller knows."""
    return Send(FRONTIER, key, encode(Batch(facts=tuple(facts))), partition=partition)


def _sends(facts: list[ToFrontier], partition: int) -> list[Send]:
    send = batch_for(partition, (each.fact for each in facts), facts[0].key)
    if len(facts) > 1 and len(send.value or b"") > MAX_BATCH_BYTES:
        half = len(facts) // 2
        return _sends(facts[:half], partition) + _sends(facts[half:], partition)
    return [send]
