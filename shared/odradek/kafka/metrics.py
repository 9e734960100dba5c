"""What every runner of this process tells Prometheus, without a line in the service."""

from collections.abc import Iterable, Iterator
from typing import Protocol
from weakref import WeakSet

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class Counted(Protocol):
    """What a runner shows of itself."""

    service: str
    topic: str
    finished: int
    dead_letters: int
    away: str | None

    @property
    def in_hand(self) -> int: ...  # noqa: D102  (said at the runner)

    def lag(self) -> dict[int, int]: ...  # noqa: D102  (said at the runner)


class Runners(Collector):
    """Counters and gauges of all runners that are alive."""

    def __init__(self) -> None:
        self._runners: WeakSet[Counted] = WeakSet()

    def add(self, runner: Counted) -> None:
        """Show this runner from now on."""
        self._runners.add(runner)

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: labels are known when runners are."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """One sample of each runner, and one of each of its partitions."""
        runners, labels = list(self._runners), ("service", "topic")
        finished = CounterMetricFamily("odradek_records_finished", "Records handled and acknowledged.", labels=labels)
        dead = CounterMetricFamily("odradek_records_dead", "Of these, dead letters.", labels=labels)
        in_hand = GaugeMetricFamily("odradek_records_in_hand", "Records read and not finished.", labels=labels)
        away = GaugeMetricFamily("odradek_engine_away", "1 while an engine is waited for.", labels=labels)
        lag = GaugeMetricFamily("odradek_lag", "Records not finished, by partition.", labels=(*labels, "partition"))
        for runner in runners:
            at = (runner.service, runner.topic)
            finished.add_metric(at, runner.finished)
            dead.add_metric(at, runner.dead_letters)
            in_hand.add_metric(at, runner.in_hand)
            away.add_metric(at, int(runner.away is not None))
            for partition, records in runner.lag().items():
                lag.add_metric((*at, str(partition)), records)
        yield from (finished, dead, in_hand, away, lag)


RUNNERS = Runners()
REGISTRY.register(RUNNERS)
