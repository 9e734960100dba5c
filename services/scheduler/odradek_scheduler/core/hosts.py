"""When a host can be served next: a heap of hosts by time, and the turn of those that are free now (rule I)."""

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple

from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.politeness import Pace, delay_between_ms, is_probed
from odradek_scheduler.core.queues import HostQueue, Queue
from odradek_scheduler.core.terms import Terms
from odradek_scheduler.core.turns import Turns

_HOSTS_A_CALL: Final = 2_000
"""Hosts arranged in one call for each reason, so that it stays short."""


class HostPace(NamedTuple):
    """What applies to a host now: of several jobs the gentlest."""

    concurrency: int
    delay_ms: int


class Agenda:
    """Hosts by the time at which something can be done for them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._heap: list[tuple[int, int, HostQueue]] = []
        self._number = 0
        self.turns = Turns()

    def wake_at_ms(self) -> int | None:
        """When the next host has to be looked at; 0: now."""
        if self._memory.touched:
            return 0
        while self._heap and self._heap[0][2].due_ms != self._heap[0][0]:
            self._pop()
        return self._heap[0][0] if self._heap else None

    def advance(self, now_ms: int) -> None:
        """Look again at hosts that something has happened to, or whose time has come, at most some thousand a call."""
        for host in list(islice(self._memory.touched, _HOSTS_A_CALL)):
            self.arrange(host, now_ms)
        for _ in range(_HOSTS_A_CALL):
            if not self._heap or self._heap[0][0] > now_ms:
                break
            if (due := self._pop()) is not None:
                self.arrange(due, now_ms)

    def arrange(self, host: HostQueue, now_ms: int) -> None:
        """Place the host by when it can be served; forget it when nothing is left of it."""
        self._memory.touched.pop(host, None)
        if self._memory.hosts.get(host.key) is not host:
            return
        if host.answers:
            host.pace.answered(host.answers, now_ms)
            host.answers = 0
        for queue in [queue for queue in host.queues.values() if queue.idle]:
            del host.queues[queue.run]
            del self._memory.queues[queue.run][host.key]
        host.due_ms = self._due_ms(host)
        if host.due_ms is None:
            self._forget(host, now_ms)
        elif host.due_ms > now_ms:
            self._push(host)
        else:
            self._line_up(host, now_ms)

    def _line_up(self, host: HostQueue, now_ms: int) -> None:
        """The host stands in the line of each of its jobs, so that a job of few URLs waits for none of many."""
        for queue in host.queues.values():
            if queue.job in host.lines:
                self.turns.prioritise(queue.job, self._memory.terms(queue.job).priority)
            elif (due_ms := self.queue_due_ms(queue)) is not None and due_ms <= now_ms:
                self.turns.add(queue.job, self._memory.terms(queue.job).priority, host)

    def _push(self, host: HostQueue) -> None:
        """Once for each time: a host that is resting may be touched a thousand times meanwhile."""
        if host.due_ms is not None and host.due_ms != host.listed_ms:
            self._number += 1
            host.listed_ms = host.due_ms
            heappush(self._heap, (host.due_ms, self._number, host))

    def _pop(self) -> HostQueue | None:
        """The host whose time comes first; None: it comes at another time now."""
        due_ms, _, host = heappop(self._heap)
        if host.listed_ms == due_ms:
            host.listed_ms = None
        return host if host.due_ms == due_ms else None

    def _forget(self, host: HostQueue, now_ms: int) -> None:
        """A host without URLs is kept while its delay runs, so that the next URL finds it."""
        if host.queues or host.pace.in_flight or host.asked:
            return
        rests = host.pace.rests
        if rests and rests[-1] + host.delay_ms > now_ms:
            host.due_ms = rests[-1] + host.delay_ms
            self._push(host)
        else:
            del self._memory.hosts[host.key]

    def _due_ms(self, host: HostQueue) -> int | None:
        dues = [due for queue in host.queues.values() if (due := self.queue_due_ms(queue)) is not None]
        if not dues:
            return None
        due_ms = min(dues)
        pace = self.pace(host)
        host.delay_ms = pace.delay_ms
        free_at_ms = self._free_at_ms(host, host.pace, pace)
        return None if free_at_ms is None else max(due_ms, free_at_ms)

    def free_at_ms(self, host: HostQueue, now_ms: int, crawl_delay_ms: int = 0) -> int | None:
        """When the host may be asked, whatever waits for it; None: not before an answer comes.

        Answers not looked at yet count as heard now. `crawl_delay_ms`: one that has not been taken note of yet.
        """
        return self._free_at_ms(host, host.pace.after(host.answers, now_ms), self.pace(host, crawl_delay_ms))

    def _free_at_ms(self, host: HostQueue, chains: Pace, pace: HostPace) -> int | None:
        record = self._memory.cache.host(host.key)
        if record.blocked:
            return 0
        free_at_ms = chains.free_at_ms(pace.concurrency, pace.delay_ms)
        return None if free_at_ms is None else max(free_at_ms, record.back_off_until_ms, *host.asked.values(), 0)

    def queue_due_ms(self, queue: Queue) -> int | None:
        """When there is something to do for a queue, its host allowing; None: not before something happens."""
        terms = self._memory.terms_of(queue)
        if not terms.active or not queue.run.endswith(f"\0{terms.run}"):
            return None
        due_ms = self._open_due_ms(queue, terms)
        return due_ms if due_ms is None or not queue.listing_ms else max(due_ms, queue.listing_ms)

    @staticmethod
    def _open_due_ms(queue: Queue, terms: Terms) -> int | None:
        held = queue.permitted[0][0] if queue.permitted else None
        if terms.limited and (queue.full or queue.starved or queue.preparing >= ahead(terms)):
            return held
        pages = queue.pages_due_ms()
        if held is None or pages is None:
            return held if pages is None else pages
        return min(held, pages)

    def best(self, host: HostQueue, now_ms: int, job: str) -> Queue | None:
        """The queue to serve: the highest priority, then the job whose turn it is, then what has waited longest."""
        best: Queue | None = None
        rank = (0, False, 0)
        for queue in host.queues.values():
            due_ms = self.queue_due_ms(queue)
            if due_ms is None or due_ms > now_ms:
                continue
            mine = (-self._memory.terms(queue.job).priority, queue.job != job, queue.turn)
            if best is None or mine < rank:
                best, rank = queue, mine
        return best

    def pace(self, host: HostQueue, crawl_delay_ms: int = 0, others: Iterable[Terms] = ()) -> HostPace:
        """The longest delay and the least concurrency of all jobs there; a person's word goes before them.

        `crawl_delay_ms`: what robots.txt asks for beyond what the host knows. `others`: jobs that count where none has
        anything pending, for what would apply.
        """
        delay_ms, concurrency = 0, 0
        crawl_delay_ms = max(crawl_delay_ms, host.crawl_delay_ms)
        record = self._memory.cache.host(host.key)
        there = [terms for queue in host.queues.values() if (terms := self._memory.terms(queue.job)).active]
        for terms in there or others:
            mine = terms.delay_ms
            if crawl_delay_ms or terms.latency_factor:
                asked_ms = crawl_delay_ms if terms.respect_robots else 0
                mine = delay_between_ms(mine, terms.max_delay_ms, asked_ms, terms.latency_factor, record.latency_ms)
            delay_ms = max(delay_ms, mine)
            concurrency = min(concurrency or terms.concurrency, terms.concurrency)
        return HostPace(
            concurrency=1 if is_probed(record) else record.concurrency or concurrency or 1,
            delay_ms=delay_ms if record.delay_ms is None else record.delay_ms,
        )


def ahead(terms: Terms) -> int:
    """URLs of one host that may hold or ask for a permit before they can be sent."""
    return 2 * terms.concurrency
