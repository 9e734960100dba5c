"""What the indexer counts, for /metrics."""

from prometheus_client import Counter, Histogram

ITEMS = Counter("odradek_indexer_items", "Items by what was done with them", ["done"])
"""done: inserted, replaced, touched, nothing, superseded, late, dead."""

EVENTS = Counter("odradek_indexer_events", "Crawl events by what was done with them", ["done"])
"""done: created, there, dead."""

DEAD_LETTERS = Counter("odradek_indexer_dead_letters", "Dead letters stored", ["reason"])

ARCHIVED = Counter("odradek_indexer_archived_pages", "Pages written into archives")
ARCHIVE_FILES = Counter("odradek_indexer_archive_files", "Files written into archives")

STORE_S = Histogram(
    "odradek_indexer_store_seconds",
    "Time that a store took for a batch",
    ["topic"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
