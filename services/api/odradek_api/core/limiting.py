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
    asked_for_it = any(_ASKED in (report.limiting or "") for report in standing.reports)
    rest = (
        f"{_many(waiting, 'host is', 'hosts are')} waiting, some because they asked for it or do not answer"
        if asked_for_it
        else f"{_many(waiting, 'host is', 'hosts are')} waiting for {'its' if waiting == 1 else 'their'} "
        f"{_delay_s(standing):g} s delay"
    )
    fetchers = running.get("fetcher")
    idle = "" if fetchers is None else f"; {_many(max(0, fetchers - flying), 'fetcher', 'fetchers')} idle"
    return f"{rest}{idle}."


def _delay_s(standing: Standing) -> float:
    given = (standing.record.spec.get("politeness") or {}).get("delay")
    return DEFAULT_DELAY_S if given is None else duration_s(given)


def _many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
