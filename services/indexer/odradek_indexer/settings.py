"""What the indexer needs beyond the settings that all services share; none of it is read from the environment."""

import math
from dataclasses import dataclass

from odradek.kafka.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of a topic is handled together, and how much may be in hand."""

    batch: int
    window: Window
    wait_s: float = 0.0
    """How long a batch that is not full waits for more."""
    alone_s: float = math.inf
    """It waits no longer when none came for so long: the end of a crawl is not held up."""


ITEMS = Share(batch=500, window=Window(2000, 32 * 1024 * 1024, fetch_wait_ms=250), wait_s=0.5, alone_s=0.3)
"""In bulks of 500 a document takes the embedded engine half of what it takes in bulks of 20."""
LOGS = Share(batch=3000, window=Window(8000, 32 * 1024 * 1024, fetch_wait_ms=250), wait_s=5.0, alone_s=0.3)
"""After each bulk the embedded engine writes all the events that it has to disk, 18 µs of CPU each: every second or two
that takes more than all else it does. So a busy crawl's events can be searched five seconds later."""
DEAD_LETTERS = Share(batch=50, window=Window(100, 48 * 1024 * 1024))
ARCHIVE = Share(batch=5000, window=Window(5000, 64 * 1024 * 1024), wait_s=10.0)
"""A batch is a file for each job and partition in it: large ones are worth a wait, memory bounds them."""

ARCHIVE_PATIENCE_S = 600.0
"""How long an archive that cannot be written holds up the archives of other jobs; then its pages are dead letters."""

RETENTION_DAYS = 30
"""Of the lifecycle policy that is made where there is none; a policy changed in Elasticsearch stays as it is."""

JOB_PATIENCE_S = 2.0
"""How long the record of an unknown job is waited for at a time, while the topic `jobs` is not read to its end."""
