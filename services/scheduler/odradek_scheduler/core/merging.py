"""Small backlog pages of one host become one: the index in memory follows the number of pages, not of URLs.

One crawled page finds few new URLs of its host, so pages of one to three URLs are the common case. When a queue holds
many of them, the oldest are merged by a fact in the own log. A merged page counts as new, so URLs of one priority keep
their order but for those found in between.
"""

from typing import Final

from odradek.contracts import Merged
from odradek_scheduler.core.keys import split_run_id
from odradek_scheduler.core.memory import Memory

_SOURCES_A_CALL: Final = 1_024
"""Pages that end in one call; the batch with them takes a few hundredths of a second."""


def merges(memory: Memory) -> list[Merged]:
    """Merges for the queues with the most to gain; bounded, the rest waits for the next call."""
    found: list[Merged] = []
    left = _SOURCES_A_CALL
    while memory.crowded and left > 0:
        queue = next(iter(memory.crowded))
        codes = queue.mergeable(left)
        if len(queue.small) < queue.merge_at:
            del memory.crowded[queue]
        left -= max(len(codes), 1)
        by_priority: dict[int, list[int]] = {}
        for code in codes:
            priority, offset = queue.place(code)
            by_priority.setdefault(priority, []).append(offset)
        job, run = split_run_id(queue.run)
        found += [
            Merged(job=job, run=run, key=queue.host.key, priority=priority, sources=tuple(offsets))
            for priority, offsets in by_priority.items()
            if len(offsets) > 1
        ]
    return found
