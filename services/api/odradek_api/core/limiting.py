"""What holds a running job back, in one sentence, from the reports of its partitions. O(partitions)."""

from collections import Counter
from collections.abc import Mapping

from odradek.units import duration_s
from odradek_api.core.standing import Standing

Running = Mapping[str, int]
"""Processes by service, as far as they are known."""
_REST = "All "
_ASKED = "because they asked for it"
DEFAULT_DELAY_S = 1.0
LONG = 3
"""Times its delay, and a second: who waits longer waits for something else."""


def limiting_reason(standing: Standing, running: Running) -> str | None:
    """The sentence; None: nothing does, or the job does not run."""
    if standing.state != "running":
        return None
    pending = standing.counters.pending
    for service in ("scheduler", "fetcher", "parser", "indexer"):
        if running.get(service) == 0 and (pending or service != "scheduler"):
            return f"No {service} is running."
    if not pending:
        return None
    particular = Counter(
        report.limiting
        for report in standing.reports
        if report.limiting and report.counters.pending and not report.limiting.startswith(_REST)
    )
    if particular:
        [(sentence, count)] = particular.most_common(1)
        return sentence if len(standing.reports) == 1 else f"{sentence} ({count} of {len(standing.reports)} partitions)"
    return _resting(standing, running)


def _resting(standing: Standing, running: Running) -> str | None:
    waiting = sum(report.hosts_waiting for report in standing.reports)
    ready = sum(report.hosts_open for report in standing.reports) - waiting
    flying = standing.in_flight
    if not waiting:
        return (
            f"The fetchers are busy: {_many(flying, 'request is', 'requests are')} out." if flying and ready else None
        )
    rest = f"{_many(waiting, 'host is', 'hosts are')} waiting{_for_what(standing, waiting)}"
    fetchers = running.get("fetcher")
    idle = "" if fetchers is None else f"; {_many(max(0, fetchers - flying), 'fetcher', 'fetchers')} idle"
    return f"{rest}{idle}."


def _for_what(standing: Standing, waiting: int) -> str:
    one = waiting == 1
    if any(_ASKED in (report.limiting or "") for report in standing.reports):
        return (
            " because it asked for it or does not answer"
            if one
            else (", some because they asked for it or do not answer")
        )
    delay_s, next_s = _delay_s(standing), _next_s(standing)
    if next_s is not None and next_s > LONG * delay_s + 1:
        return f"; the next fetch, such as a retry, is due in {next_s:,.0f} s"
    return f" for {'its' if one else 'their'} {delay_s:g} s delay"


def _next_s(standing: Standing) -> float | None:
    """Seconds from the reports to the next fetch; None: there is one that could go now."""
    open_ = [report for report in standing.reports if report.hosts_open]
    if not open_ or any(report.next_due_ms is None for report in open_):
        return None
    return min((report.next_due_ms or 0) - report.at_ms for report in open_) / 1000


def _delay_s(standing: Standing) -> float:
    given = (standing.record.spec.get("politeness") or {}).get("delay")
    return DEFAULT_DELAY_S if given is None else duration_s(given)


def _many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
