"""How the memory follows the log: what each folded batch means for queues, flights and hosts."""

from typing import Final

from odradek_scheduler.core.effects import Effects
from odradek_scheduler.core.keys import run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import Flight, Stage

UNPARSED_LEASE_MS: Final = 15 * 60_000
"""A page that was fetched and not parsed for so long is taken for lost, and the URL fetched again."""


class Learning:
    """Applies the effects of a batch to the memory."""

    def __init__(self, memory: Memory, unparsed_lease_ms: int = UNPARSED_LEASE_MS) -> None:
        self._memory, self._unparsed_lease_ms = memory, unparsed_lease_ms

    def learn(self, effects: Effects) -> list[bytes]:
        """Take in a folded batch; returns the keys of pages that get their tombstones with it."""
        for job in effects.jobs:
            self._job_changed(job)
        self._pages(effects)
        self._outcomes(effects)
        for key, origin, lease_ms in effects.robots:
            self._robots_fetched(key, origin, lease_ms)
        for run, fps in effects.reserved:
            self._reserved(run, fps)
        for run, key in effects.listed:
            self._listed(run, key)
        self._runs(effects)
        for job in effects.purged:
            self._memory.purge(job)
        for host in filter(None, map(self._memory.hosts.get, effects.hosts)):
            self._memory.touched[host] = None
        return self._memory.clearing.take()

    def _pages(self, effects: Effects) -> None:
        for (run, key, priority), urls in effects.pages:
            if run in effects.closed or self._memory.cache.ledger(run).closed_at is None:
                self._memory.add_page(run, key, (priority, effects.offset), urls)
        for (run, key, priority), offsets in effects.merged:
            queue = self._memory.queues.get(run, {}).get(key)
            if queue is not None:
                queue.merged(priority, offsets)

    def _runs(self, effects: Effects) -> None:
        for run in effects.closed:
            self._memory.close(run)
        for run in effects.superseded:
            self._memory.clearing.sweep(run)
        for run in effects.reopened:
            self._memory.reopen(run, effects.offset)
        for run in effects.runs:
            self._memory.feed(run)

    def _outcomes(self, effects: Effects) -> None:
        for run, fp, attempt, key, sent_at_ms in effects.fetched:
            self._fetched(run, fp, attempt, key, sent_at_ms)
        for run, fp, key in effects.unheard:
            if (run, fp) not in self._memory.flights:
                self._stray(key)
        for run, fp, attempt, _, sent_at_ms in effects.given_back:
            self._given_back(run, fp, attempt, sent_at_ms)
        for run, fp, _ in effects.ended:
            self._ended(run, fp)
        for run, fp, attempt, due_ms in effects.retried:
            self._retried(run, fp, attempt, due_ms)
        for run, fp, attempt in effects.parsed:
            self._told_late(run, fp, attempt)

    def _job_changed(self, job: str) -> None:
        terms = self._memory.terms(job)
        for run in (run_id(job, terms.run), run_id(job, -terms.run)):
            for queue in self._memory.queues.get(run, {}).values():
                queue.reorder(depth_first=terms.depth_first)
                queue.full = False
                self._memory.touched[queue.host] = None

    def _listed(self, run: str, key: str) -> None:
        queue = self._memory.queues.get(run, {}).get(key)
        if queue is not None:
            queue.listing_ms = 0
            self._memory.touched[queue.host] = None

    def _fetched(self, run: str, fp: str, attempt: int, key: str, sent_at_ms: int) -> None:
        flight = self._memory.flights.get((run, fp))
        if flight is None or flight.stage is not Stage.SENT or not _answers(flight, attempt, sent_at_ms):
            self._stray(key)
        elif flight.settled:
            self._settle(flight)
        elif flight.queue.dead and not self._memory.cache.ledger(run).sated:
            # its run is over: what is not begun by then is never fetched, and no outcome of it would come
            self._memory.land(flight, None)
        else:
            self._memory.free(flight.queue.host)
            self._memory.unparsed += 1
            flight.stage = Stage.ANSWERED
            self._memory.lease(flight, flight.lease_ms + self._unparsed_lease_ms)

    def _given_back(self, run: str, fp: str, attempt: int, sent_at_ms: int) -> None:
        """Due again at once, unless what was given back has been answered all the same, or sent again since."""
        flight = self._memory.flights.get((run, fp))
        if flight is None or flight.stage is not Stage.SENT or not _answers(flight, attempt, sent_at_ms):
            return
        if flight.settled:
            self._settle(flight)
        else:
            # in another millisecond, so that the two requests are told apart by when they were sent
            self._memory.come_down(flight, flight.sent_at_ms + 1)

    def _stray(self, key: str) -> None:
        """An answer to no request of ours: the host rests after it all the same."""
        host = self._memory.hosts.get(key)
        if host is not None:
            host.answers += 1
            self._memory.touched[host] = None

    def _ended(self, run: str, fp: str) -> None:
        flight = self._memory.flights.get((run, fp))
        if flight is None:
            return
        if flight.stage is Stage.SENT:
            self._memory.off_page(flight, None)
            flight.settled, flight.due_ms = True, None
        else:
            self._memory.land(flight, None)

    def _retried(self, run: str, fp: str, attempt: int, due_ms: int) -> None:
        flight = self._memory.flights.get((run, fp))
        if flight is None or flight.attempt != attempt or flight.stage not in (Stage.SENT, Stage.ANSWERED):
            return
        flight.settled, flight.due_ms = True, due_ms
        if flight.stage is Stage.ANSWERED:
            self._settle(flight)

    def _settle(self, flight: Flight) -> None:
        """The answer and the outcome are both there."""
        memory, due_ms = self._memory, flight.due_ms
        if due_ms is None or flight.queue.dead or not memory.allowance.holds(flight.queue, flight.fp):
            memory.land(flight, due_ms)
            return
        memory.leave(flight)
        flight.stage, flight.settled = Stage.HELD, False
        memory.hold(flight, due_ms)
        memory.touched[flight.queue.host] = None

    def _told_late(self, run: str, fp: str, attempt: int) -> None:
        flight = self._memory.flights.get((run, fp))
        if flight is None:
            return
        if flight.stage is Stage.SKIPPING or (flight.stage is Stage.ANSWERED and flight.attempt == attempt):
            self._memory.come_down(flight)
        elif flight.stage is Stage.SENT and flight.attempt == attempt and not flight.settled:
            flight.settled, flight.due_ms = True, 0

    def _robots_fetched(self, key: str, origin: str, lease_ms: int) -> None:
        host = self._memory.hosts.get(key)
        if host is None:
            return
        host.crawl_delays_ms.pop(origin, None)
        asked_ms = host.asked.get(origin)
        if asked_ms is not None and lease_ms in (0, asked_ms):
            del host.asked[origin]
            self._memory.free(host)
        else:
            host.answers += 1
        self._memory.touched[host] = None

    def _reserved(self, run: str, fps: tuple[str, ...]) -> None:
        memory = self._memory
        for fp in fps:
            flight = memory.flights.get((run, fp))
            if flight is None:
                if fp in memory.cache.ledger(run).holders:
                    memory.adopt(run, fp)
            elif flight.stage is Stage.PROPOSED and memory.allowance.holds(flight.queue, fp):
                memory.hold(flight, 0)
                memory.touched[flight.queue.host] = None
            elif flight.stage is Stage.PROPOSED:
                queue = flight.queue
                memory.land(flight, 0)
                if memory.terms(queue.job).max_pages is not None:
                    memory.allowance.starve(queue)


def _answers(flight: Flight, attempt: int, sent_at_ms: int) -> bool:
    return flight.attempt == attempt and sent_at_ms in (0, flight.sent_at_ms)
