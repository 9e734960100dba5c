"""The memory of a partition from its tables, at take-over."""

from collections.abc import Iterator
from typing import Final

from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.state import run_id, split_page_key
from odradek_scheduler.core.tables import Tables

_OFFSET_AT: Final = -16
"""Where the batch offset begins in a key of the backlog."""
_JOBS_A_STEP: Final = 500


def building(memory: Memory, tables: Tables, pages_a_step: int) -> Iterator[int]:
    """Read backlog and holders of permits; batches may be learned between two steps. Gives the pages read so far."""
    count = 0
    before, queue, priority = b"", None, 0
    for count, (key, value) in enumerate(tables.scan("backlog", b""), 1):
        if queue is None or key[:_OFFSET_AT] != before:
            before = key[:_OFFSET_AT]
            run, host, priority, _ = split_page_key(key)
            queue = memory.queue(run, host)
        if queue.add(priority, int(key[_OFFSET_AT:], 16), value.count(b'"') // 2):
            memory.crowded[queue] = None
        if count % pages_a_step == 0:
            memory.cache.trim()
            queue = None  # what is learned meanwhile may end it
            yield count
    for run in [run for run in memory.queues if memory.cache.ledger(run).closed_at is not None]:
        memory.close(run)
        yield count
    for jobs, (job, record) in enumerate(list(memory.cache.jobs.items()), 1):
        memory.adopt_holders(run_id(job, record.run))
        if jobs % _JOBS_A_STEP == 0:
            memory.cache.trim()
            yield count
