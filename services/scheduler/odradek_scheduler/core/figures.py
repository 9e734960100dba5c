"""One partition in numbers."""

from collections.abc import Generator
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from odradek_scheduler.core.hosts import Agenda
from odradek_scheduler.core.memory import Memory

HOSTS_A_STEP: Final = 1_000


def _says(text: str) -> Any:
    return field(default=0, metadata={"says": text})


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of one partition, or a sum of such."""

    pending_urls: int = _says("URLs accepted and not ended, of runs that something was heard of since the take-over.")
    in_flight: int = _says("Requests without an answer.")
    unparsed: int = _says("URLs fetched and not parsed.")
    hosts_open: int = _says("Hosts with something pending.")
    hosts_ready: int = _says("Of these, free to be served now.")
    hosts_waiting: int = _says("Of these, waiting for a delay, a back-off or an answer.")
    hosts_backing_off: int = _says("Of these, asked for rest or do not answer.")
    backlog_pages: int = _says("Pages of pending URLs in the index in memory.")
    permits_asked: int = _says("Permits asked for and not decided.")

    def __add__(self, other: Self) -> "Figures":
        return Figures(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


def counting(memory: Memory, agenda: Agenda, now_ms: int) -> Generator[None, None, Figures]:
    """Of one partition that dispatches, step by step: it goes over all hosts, perhaps a hundred thousand."""
    pages = backing_off = 0
    for number, (key, host) in enumerate(list(memory.hosts.items()), 1):
        for queue in host.queues.values():
            pages += len(queue.ready) - len(queue.gone) + len(queue.waiting)
        backing_off += memory.cache.host(key).back_off_until_ms > now_ms
        if number % HOSTS_A_STEP == 0:
            memory.cache.trim()
            yield
    memory.cache.trim()
    ready = len(agenda.turns)
    return Figures(
        pending_urls=sum(memory.cache.ledger(run).pending for run in memory.queues),
        in_flight=memory.sent,
        unparsed=memory.unparsed,
        hosts_open=len(memory.hosts),
        hosts_ready=ready,
        hosts_waiting=len(memory.hosts) - ready,
        hosts_backing_off=backing_off,
        backlog_pages=pages,
        permits_asked=sum(memory.allowance.proposed.values()),
    )
