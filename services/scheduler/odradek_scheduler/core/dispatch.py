"""What may be sent now: politeness, robots, limits and permits decided in one place (rules F, I, J)."""

from heapq import heappop, heappush
from typing import Final

from odradek.contracts import Fact, FetchRequest, LogEvent, Outcome, Parsed, Reserve, SitemapsListed
from odradek_scheduler.core.hosts import Agenda, ahead
from odradek_scheduler.core.judging import Judge, Verdict
from odradek_scheduler.core.keys import split_run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import Flight, HostQueue, Queue, Stage
from odradek_scheduler.core.requests import (
    clamped_event,
    dispatch_outcome,
    outcome_event,
    page_request,
    robots_request,
)
from odradek_scheduler.core.robots import origin_of
from odradek_scheduler.core.tables import Tables
from odradek_scheduler.core.terms import Terms
from odradek_scheduler.core.visits import Drawn, Visits

OWN_FACT_LEASE_MS: Final = 30_000
"""A fact sent to the own log that has not come back by then is sent again."""
HELD_AGAIN_MS: Final = 1_000
"""A URL that has one permit and lacks another is looked at again after this."""
_SKIPS_A_CALL: Final = 500
_TURNS_A_CALL: Final = 5_000
_FIRST: Final = (Verdict.ASK, Verdict.LIST, Verdict.REST)
"""Something has to come before the URL, and before any other of its queue."""


class Dispatcher:
    """One call of `run` at a time; what is to be sent gathers in `requests`, `facts`, `events`."""

    def __init__(self, memory: Memory, tables: Tables, urls_kept: int) -> None:
        self._memory = memory
        self.agenda = Agenda(memory)
        self._visits = Visits(memory, tables, urls_kept)
        self.judge = Judge(memory)
        self._turn = 0
        self.requests: list[FetchRequest] = []
        self.facts: list[Fact] = []
        self.events: list[LogEvent] = []
        self._proposals: dict[str, list[str]] = {}

    def run(self, now_ms: int, credit: int, unparsed_room: int, visits: int) -> None:
        """Serve host after host while credit, room and visits last."""
        self._memory.cache.trim()
        self.requests, self.facts, self.events, self._proposals = [], [], [], {}
        self._visits.left = visits
        self._memory.expire(now_ms)
        self.agenda.advance(now_ms)
        room, turns = min(credit, unparsed_room), 0
        while len(self.requests) < room and self._visits.left > 0:
            if not self.agenda.turns and not self._fed(now_ms):
                break
            turns += 1
            if len(self.facts) >= _SKIPS_A_CALL or turns > _TURNS_A_CALL:
                break
            job, host = self.agenda.turns.pop()
            if self._is_free(host, now_ms):
                self._serve(host, job, now_ms)
                self.agenda.arrange(host, now_ms)
        for run, fps in self._proposals.items():
            job, number = split_run_id(run)
            self.facts.append(Reserve(job=job, run=number, fps=tuple(fps)))

    def _fed(self, now_ms: int) -> bool:
        """True if someone who had found no permit can be served now; few are woken at a time, of a million hosts."""
        while not self.agenda.turns:
            if not any(self._memory.feed(run) for run in self._memory.allowance.starved):
                return False
            self.agenda.advance(now_ms)
        return True

    # ---- one host

    def _is_free(self, host: HostQueue, now_ms: int) -> bool:
        """False for a host that was served for another job since: the agenda knows when it is free again."""
        return self._memory.hosts.get(host.key) is host and host.due_ms is not None and host.due_ms <= now_ms

    def _serve(self, host: HostQueue, job: str, now_ms: int) -> None:
        """At most one request: the host's turn is over with it."""
        queue = self.agenda.best(host, now_ms, job)
        if queue is None:
            return
        self._turn += 1
        queue.turn = self._turn
        terms = self._memory.terms_of(queue)
        if terms.limited and not self._propose(queue, terms, now_ms):
            return
        if not self._send_held(queue, terms, now_ms) and not terms.limited:
            self._send_next(queue, terms, now_ms)

    def _send_next(self, queue: Queue, terms: Terms, now_ms: int) -> None:
        while (drawn := self._visits.draw(queue, now_ms)) is not None:
            verdict = self._judge(queue, terms, drawn, now_ms)
            if verdict is Verdict.GO:
                self._send(queue, terms, drawn, now_ms)
                return
            if not self._goes_on(queue, terms, drawn, verdict, now_ms):
                return

    def _send_held(self, queue: Queue, terms: Terms, now_ms: int) -> bool:
        """Send a URL that holds a permit; False when there is none that is due."""
        while queue.permitted and queue.permitted[0][0] <= now_ms:
            due_ms, fp = heappop(queue.permitted)
            flight = self._memory.flights.get((queue.run, fp))
            found = self._visits.open_url(queue.run, fp)
            if flight is None or flight.stage is not Stage.HELD or found is None:
                continue
            drawn = Drawn(fp, *found, None)
            verdict = self._judge(queue, terms, drawn, now_ms)
            if verdict is Verdict.GO and self._memory.allowance.may_send(queue, fp):
                self._send(queue, terms, drawn, now_ms)
                return True
            if verdict is Verdict.GO and self._room(queue, fp):
                self._reserve(flight, now_ms)
            elif verdict is not Verdict.ENDED:
                heappush(queue.permitted, (due_ms if verdict in _FIRST else now_ms + HELD_AGAIN_MS, fp))
            if verdict is Verdict.ASK:
                self._ask(queue, terms, drawn, now_ms)
            if verdict in _FIRST:
                return True
        return False

    def _propose(self, queue: Queue, terms: Terms, now_ms: int) -> bool:
        """Ask for permits some URLs ahead; False when robots.txt held the host up."""
        while queue.preparing < ahead(terms) and not (queue.starved or queue.full):
            drawn = self._visits.draw(queue, now_ms)
            if drawn is None:
                return True
            verdict = self._judge(queue, terms, drawn, now_ms)
            if verdict is Verdict.GO:
                self._prepare(queue, drawn, now_ms)
            elif not self._goes_on(queue, terms, drawn, verdict, now_ms):
                return verdict not in _FIRST
        return True

    def _prepare(self, queue: Queue, drawn: Drawn, now_ms: int) -> None:
        """Hold the URL if it has a permit, ask for one if there is one, or wait."""
        memory, fp = self._memory, drawn.fp
        if memory.allowance.holds(queue, fp):
            memory.hold(memory.take_off(queue, fp, Stage.HELD, drawn.page), now_ms)
        elif self._room(queue, fp):
            self._reserve(memory.take_off(queue, fp, Stage.PROPOSED, drawn.page), now_ms)
        else:
            self._visits.put_back(drawn)

    def _room(self, queue: Queue, fp: str) -> bool:
        """True if all permits the URL lacks can be had; else the queue waits for what is scarce."""
        if not self._memory.allowance.has_share_for(queue, fp):
            queue.full = True
        elif not self._memory.allowance.has_permit_for(queue, fp):
            self._memory.allowance.starve(queue)
        else:
            return True
        return False

    def _reserve(self, flight: Flight, now_ms: int) -> None:
        self._memory.propose(flight, now_ms + OWN_FACT_LEASE_MS)
        self._proposals.setdefault(flight.queue.run, []).append(flight.fp)

    def _goes_on(self, queue: Queue, terms: Terms, drawn: Drawn, verdict: Verdict, now_ms: int) -> bool:
        """After a URL that is not sent: True when the queue's next may be looked at."""
        if verdict in _FIRST:
            self._visits.put_back(drawn)
        if verdict is Verdict.ASK:
            self._ask(queue, terms, drawn, now_ms)
        return verdict in (Verdict.WAIT, Verdict.ENDED) and len(self.facts) < _SKIPS_A_CALL

    # ---- one URL

    def _judge(self, queue: Queue, terms: Terms, drawn: Drawn, now_ms: int) -> Verdict:
        self._visits.left -= self.judge.effort(drawn.seen, terms)
        found = self.judge.judge(queue.run, drawn.seen, terms, now_ms)
        if found.sitemaps:
            self._list(queue, drawn, found.sitemaps, now_ms)
        if found.crawl_delay_ms and self._learned(queue, terms, drawn, found.crawl_delay_ms, now_ms):
            return Verdict.REST
        if found.end is not None:
            self._end(queue, drawn, found.end, found.why, now_ms)
        elif found.due_ms is not None and drawn.page is not None:
            drawn.page.due_again(found.due_ms)
        return found.verdict

    def _learned(self, queue: Queue, terms: Terms, drawn: Drawn, delay_ms: int, now_ms: int) -> bool:
        """A crawl-delay is taken note of; True when the host, by it, is not free yet."""
        origin, host = origin_of(drawn.seen.url), queue.host
        if delay_ms <= host.crawl_delays_ms.get(origin, 0):
            return False
        host.crawl_delays_ms[origin] = delay_ms
        if delay_ms > terms.max_delay_ms:
            self.events.append(clamped_event(queue.run, host.key, origin, (delay_ms, terms.max_delay_ms), now_ms))
        pace = self.agenda.pace(host)
        return (host.pace.free_at_ms(pace.concurrency, pace.delay_ms) or 0) > now_ms

    def _list(self, queue: Queue, drawn: Drawn, sitemaps: tuple[str, ...], now_ms: int) -> None:
        """Hand the origin's sitemaps to the job; the queue waits until that has been folded."""
        job, number = split_run_id(queue.run)
        queue.listing_ms = now_ms + OWN_FACT_LEASE_MS
        self.facts.append(
            SitemapsListed(
                job=job, run=number, key=queue.host.key, origin=origin_of(drawn.seen.url), sitemaps=sitemaps,
                site=drawn.seen.site,
            )
        )  # fmt: skip

    def _end(self, queue: Queue, drawn: Drawn, end: tuple[Outcome, str], why: str, now_ms: int) -> None:
        """Send its outcome through the own log."""
        memory, run = self._memory, queue.run
        flight = memory.flights.get((run, drawn.fp))
        if flight is None:
            flight = memory.take_off(queue, drawn.fp, Stage.SKIPPING, drawn.page)
        memory.lease(flight, now_ms + OWN_FACT_LEASE_MS)
        fact: Parsed = dispatch_outcome(run, drawn.fp, drawn.seen, drawn.now.attempt, end, now_ms)
        self.facts.append(fact)
        self.events.append(outcome_event(run, drawn.fp, drawn.seen, drawn.now, end, (why, now_ms)))

    def _send(self, queue: Queue, terms: Terms, drawn: Drawn, now_ms: int) -> None:
        memory, attempt = self._memory, drawn.now.attempt
        flight = memory.flights.get((queue.run, drawn.fp))
        if flight is None:
            flight = memory.take_off(queue, drawn.fp, Stage.SENT, drawn.page)
        memory.to_sent(flight, attempt, now_ms, now_ms + terms.lease_ms)
        queue.host.pace.sent(self.agenda.pace(queue.host).concurrency)
        self.requests.append(page_request(queue.run, drawn.fp, drawn.seen, attempt, terms, now_ms))

    def _ask(self, queue: Queue, terms: Terms, drawn: Drawn, now_ms: int) -> None:
        """One robots.txt request for an origin at a time; the host rests until it is answered."""
        origin, host = origin_of(drawn.seen.url), queue.host
        if origin in host.asked:
            return
        request = robots_request(queue.run, host.key, origin, terms, now_ms)
        host.asked[origin] = request.lease_until_ms
        self._memory.lease((host, origin), request.lease_until_ms)
        self._memory.sent += 1
        host.pace.sent(self.agenda.pace(host).concurrency)
        self.requests.append(request)
