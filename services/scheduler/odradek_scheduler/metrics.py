"""What Prometheus is told: sums over the partitions of this process, and how long things take."""

from dataclasses import fields
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from odradek_scheduler.core.figures import Figures

BATCHES: Final = Counter("odradek_scheduler_batches", "Batches of the frontier that were folded.")
FACTS: Final = Counter("odradek_scheduler_facts", "Facts in them.")
FOLD: Final = Histogram(
    "odradek_scheduler_fold_seconds",
    "Time to fold one batch and to write what it changes.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0),
)
REQUESTS: Final = Counter("odradek_scheduler_requests", "Requests sent.")
TAKE_OVER: Final = Histogram(
    "odradek_scheduler_take_over_seconds",
    "Time to build the memory of one partition at take-over.",
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60),
)
RECOVERY: Final = Histogram(
    "odradek_scheduler_recovery_seconds",
    "Time from a rebalance until all tables are read.",
    buckets=(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
RECONCILED: Final = Counter(
    "odradek_scheduler_reconciliations",
    "Times that the partitions in our hands were not those assigned, long after a rebalance, and were set right.",
)
LAG: Final = Histogram(
    "odradek_scheduler_loop_lag_seconds",
    "How late the event loop is; what is in its way holds up everything else.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)
LONGEST_LAG: Final = Gauge("odradek_scheduler_longest_loop_lag_seconds", "The longest of these since the start.")
PARTITIONS: Final = Gauge("odradek_scheduler_partitions", "Partitions of the frontier that are ours.")
DISPATCHING: Final = Gauge("odradek_scheduler_dispatching_partitions", "Of these, taken over and caught up.")
FIGURES: Final = {
    field.name: Gauge(f"odradek_scheduler_{field.name}", str(field.metadata["says"])) for field in fields(Figures)
}
