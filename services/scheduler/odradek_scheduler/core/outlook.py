"""Whether a run will be in time: from how long the last one took, and how long each host takes to be asked politely."""

from math import ceil
from typing import Final, NamedTuple

from odradek.contracts import HostLoad, timestamp
from odradek_scheduler.core.chronicle import Chronicle

MARGIN: Final = 1.1
"""A run begins so much earlier than it has to."""
SHOWN: Final = 5
"""Hosts."""
_MINUTE_MS: Final = 60_000


class Outlook(NamedTuple):
    """What is to be expected of a run."""

    expected_ms: int = 0
    """When it will have ended; 0: nothing is known."""
    missed: str | None = None
    """Why its deadline will not be met, and what would help."""
    hosts: tuple[HostLoad, ...] = ()
    """Where it takes longest."""


def lead_ms(chronicle: Chronicle) -> int:
    """How long before its deadline the next run begins: the last one's time, or what its hosts need, and a margin."""
    return round(_whole_ms(chronicle) * MARGIN)


def outlook(chronicle: Chronicle, run: int, deadline_ms: int, from_ms: int, *, whole: bool = False) -> Outlook:
    """Of a run from that instant on: `whole`: of the next one, which will be as long as this one; else what is left."""
    hosts = _hosts(chronicle, run, whole=whole)
    need_ms = _whole_ms(chronicle) if whole else _need_ms(hosts[0], whole=False) if hosts else 0
    if not need_ms:
        return Outlook(hosts=hosts)
    expected_ms = from_ms + need_ms
    if not deadline_ms or expected_ms <= deadline_ms:
        return Outlook(expected_ms, None, hosts)
    return Outlook(expected_ms, _why(hosts, from_ms, expected_ms, deadline_ms, whole=whole), hosts)


def span(span_ms: int) -> str:
    """A span of time in words, to the minute once it is longer than one."""
    minutes = round(span_ms / _MINUTE_MS)
    if minutes < 1:
        return f"{span_ms / 1000:g} s"
    hours, rest = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest or not hours else [])])


def _whole_ms(chronicle: Chronicle) -> int:
    last = chronicle.newest
    if last is None or not last.ended_ms:
        return 0
    hosts = _hosts(chronicle, last.run, whole=True)
    return max(last.ended_ms - last.began_ms, _need_ms(hosts[0], whole=True) if hosts else 0)


def _hosts(chronicle: Chronicle, run: int, *, whole: bool) -> tuple[HostLoad, ...]:
    found = [host for load in chronicle.loads.values() if load.run == run for host in load.hosts]
    found = [host for host in found if whole or host.open]
    return tuple(sorted(found, key=lambda host: (-_need_ms(host, whole=whole), host.key))[:SHOWN])


def _urls(host: HostLoad, *, whole: bool) -> int:
    return host.urls if whole else host.open


def _need_ms(host: HostLoad, *, whole: bool) -> int:
    return _urls(host, whole=whole) * host.gap_ms


def _why(hosts: tuple[HostLoad, ...], from_ms: int, expected_ms: int, deadline_ms: int, *, whole: bool) -> str:
    late = f"It will end at about {timestamp(expected_ms)}, {span(expected_ms - deadline_ms)} after its deadline"
    left_ms = deadline_ms - from_ms
    slow = [host for host in hosts if _need_ms(host, whole=whole) > left_ms]
    if not slow:
        return f"{late}: as long as the last run took. A higher concurrency or fewer pages would help."
    named = "; ".join(_load(host, whole=whole) for host in slow)
    if left_ms <= 0:
        return f"{late}: {named}. The deadline has passed; a later one would help, or fewer pages."
    return f"{late}: {named}. {_help(slow[0], left_ms, whole=whole)}"


def _load(host: HostLoad, *, whole: bool) -> str:
    left = "" if whole else " left"
    return (
        f"{host.key} has {_urls(host, whole=whole):,} URLs{left}, one every {host.gap_ms / 1000:g} s "
        f"(delay {host.delay_ms / 1000:g} s, {host.concurrency} at a time)"
    )


def _help(host: HostLoad, left_ms: int, *, whole: bool) -> str:
    """What would bring the slowest host in on time."""
    gap_ms = left_ms / _urls(host, whole=whole)
    chains = ceil(host.gap_ms * host.concurrency / gap_ms)
    answers_ms = host.gap_ms * host.concurrency - host.delay_ms
    delay_s = int(gap_ms * host.concurrency - answers_ms) // 100 / 10
    ways = [f"politeness.concurrency_per_host: {chains}"]
    ways += [f"politeness.delay: {delay_s:g}s"] if delay_s > 0 else []
    return (
        f"{' or '.join(ways)} would do, if the site allows it; so would at most {int(left_ms // host.gap_ms):,} pages."
    )
