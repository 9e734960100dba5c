"""The memory of a partition from its tables, at take-over."""

from collections.abc import Iterator
from typing import Final

from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.keys import run_id, split_page_key, split_run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.tables import Tables

_OFFSET_AT: Final = -16
"""Where the batch offset begins in a key of the backlog."""
_JOBS_A_STEP: Final = 500
_BYTES_A_URL: Final = 35
"""A fingerprint in a page, with quotes and comma."""
_PAGE_BYTES: Final = 256
"""Reading so much takes as long as a small page."""
_HOST_WORK: Final = 8
"""A host takes as long as so many small pages."""


def building(memory: Memory, tables: Tables, pages_a_step: int) -> Iterator[int]:
    """Read backlog and holders of permits; batches may be learned between two steps. Gives the pages read so far."""
    count = work = 0
    before, queue, priority = b"", None, 0
    for count, (key, value) in enumerate(tables.scan("backlog", b""), 1):
        if queue is None or key[:_OFFSET_AT] != before:
            before = key[:_OFFSET_AT]
            run, host, priority, _ = split_page_key(key)
            queue = memory.queue(run, host)
            work += _HOST_WORK
        if queue.add(priority, int(key[_OFFSET_AT:], 16), len(value) // _BYTES_A_URL):
            memory.crowded[queue] = None
        work += 1 + len(value) // _PAGE_BYTES
        if work >= pages_a_step:
            memory.cache.trim()
            work, queue = 0, None  # what is learned meanwhile may end the queue
            yield count
    for run in [run for run in memory.queues if _is_closed(memory.cache, run)]:
        memory.close(run)
        yield count
    for job in memory.cache.purged:
        memory.purging.begin(job)  # also what a kill has left of one purged long ago
    for jobs, (job, record) in enumerate(list(memory.cache.jobs.items()), 1):
        for _ in _adopting(memory, run_id(job, record.run), pages_a_step):
            yield count
        if jobs % _JOBS_A_STEP == 0:
            memory.cache.trim()
            yield count


def _is_closed(cache: Cache, run: str) -> bool:
    return cache.ledger(run).closed_at is not None or split_run_id(run)[0] in cache.purged


def _adopting(memory: Memory, run: str, at_once: int) -> Iterator[None]:
    """Holders of permits, so many in a step; a batch learned between two of them may end the run."""
    for holders, fp in enumerate(memory.holders(run), 1):
        memory.adopt(run, fp)
        if holders % at_once == 0:
            yield
            if memory.cache.ledger(run).closed_at is not None:
                return
