"""What may be sent now: politeness, robots, limits and permits decided in one place (rules F, I, J)."""

from enum import Enum
from heapq import heappop, heappush
from typing import Final

from odradek.contracts import Fact, FetchRequest, LogEvent, Outcome, Parsed, Reserve, SitemapsListed
from odradek_scheduler.core.hosts import Agenda, ahead
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import Flight, HostQueue, Queue, Stage
from odradek_scheduler.core.requests import dispatch_outcome, outcome_event, page_request, robots_request
from odradek_scheduler.core.robots import RobotsCache, origin_of
from odradek_scheduler.core.sitemaps import MOST_LISTED, Listing, listing_key
from odradek_scheduler.core.state import split_run_id
from odradek_scheduler.core.tables import Tables
from odradek_scheduler.core.terms import Terms
from odradek_scheduler.core.trapping import TrapJudge
from odradek_scheduler.core.visits import Drawn, Visits

OWN_FACT_LEASE_MS: Final = 30_000
"""A fact sent to the own log that has not come back by then is sent again."""
HELD_AGAIN_MS: Final = 1_000
"""A URL that has one permit and lacks another is looked at again after this."""
_SKIPS_A_CALL: Final = 500


class Verdict(Enum):
    """What becomes of a URL whose turn it is."""

    GO = 1
    ASK = 2
    """Its origin's robots.txt comes first."""
    WAIT = 3
    """Not now; its page knows when."""
    LIST = 5
    """Its origin's sitemaps are handed over first."""
    ENDED = 4
    """It is skipped or fails without a fetch."""


_FIRST: Final = (Verdict.ASK, Verdict.LIST)
"""Something has to come before the URL."""


class Dispatcher:
    """One call of `run` at a time; what is to be sent gathers in `requests`, `facts`, `events`."""

    def __init__(self, memory: Memory, tables: Tables) -> None:
        self._memory = memory
        self.agenda = Agenda(memory)
        self._visits = Visits(memory, tables)
        self.robots = RobotsCache()
        self.traps = TrapJudge(memory.cache)
        self._turn = 0
        self.requests: list[FetchRequest] = []
        self.facts: list[Fact] = []
        self.events: list[LogEvent] = []
        self._proposals: dict[str, list[str]] = {}

    def run(self, now_ms: int, credit: int, unparsed_room: int, visits: int) -> None:
        """Serve host after host while credit, room and visits last."""
        self.requests, self.facts, self.events, self._proposals = [], [], [], {}
        self._visits.left = visits
        self._memory.expire(now_ms)
        self.agenda.advance(now_ms)
        room = min(credit, unparsed_room)
        while self.agenda.turns and len(self.requests) < room and self._visits.left > 0:
            if len(self.facts) >= _SKIPS_A_CALL:
                break
            host = self.agenda.turns.pop()
            self._serve(host, now_ms)
            self.agenda.arrange(host, now_ms)
        for run, fps in self._proposals.items():
            job, number = split_run_id(run)
            self.facts.append(Reserve(job=job, run=number, fps=tuple(fps)))

    # ---- one host

    def _serve(self, host: HostQueue, now_ms: int) -> None:
        """At most one request: the host's turn is over with it."""
        if self._memory.hosts.get(host.key) is not host or host.due_ms is None or host.due_ms > now_ms:
            return
        queue = self.agenda.best(host, now_ms)
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
            if verdict is Verdict.GO and self._memory.may_send(queue, fp):
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
        """Ask for permits some URLs ahead; False when robots.txt had to be asked for instead."""
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
        if memory.holds(queue, fp):
            memory.hold(memory.take_off(queue, fp, Stage.HELD, drawn.page), now_ms)
        elif self._room(queue, fp):
            self._reserve(memory.take_off(queue, fp, Stage.PROPOSED, drawn.page), now_ms)
        else:
            self._visits.put_back(drawn)

    def _room(self, queue: Queue, fp: str) -> bool:
        """True if all permits the URL lacks can be had; else the queue waits for what is scarce."""
        if not self._memory.has_share_for(queue, fp):
            queue.full = True
        elif not self._memory.has_permit_for(queue, fp):
            self._memory.starve(queue)
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
        host = self._memory.cache.host(queue.host.key)
        if host.blocked:
            return self._end(queue, drawn, ("skipped", "host_blocked"), "The host is blocked.", now_ms)
        why = self.traps.verdict(queue.run, drawn.seen, terms, now_ms)
        if why is not None:
            return self._end(queue, drawn, ("skipped", "trap"), why, now_ms)
        if terms.respect_robots:
            verdict = self._judge_robots(queue, terms, drawn, now_ms)
            if verdict is not Verdict.GO:
                return verdict
        if terms.max_pages_per_host is not None:
            kept = self._memory.cache.share(queue.run, queue.host.key).kept
            if kept >= terms.max_pages_per_host:
                why = f"{kept} pages of {queue.host.key} are kept, as many as the job allows for one host."
                return self._end(queue, drawn, ("skipped", "budget_host"), why, now_ms)
        return Verdict.GO

    def _judge_robots(self, queue: Queue, terms: Terms, drawn: Drawn, now_ms: int) -> Verdict:
        origin, host = origin_of(drawn.seen.url), queue.host
        robots = self._memory.cache.robots(host.key, origin)
        verdict = self.robots.verdict(origin, robots, drawn.seen.url, terms.agent, now_ms)
        if verdict.state == "unknown":
            return Verdict.ASK
        if verdict.state == "unavailable":
            if robots.failures > terms.retries:
                why = f"{origin}/robots.txt did not answer {robots.failures} times, so nothing there is allowed."
                return self._end(queue, drawn, ("failed", "robots_unavailable"), why, now_ms)
            if drawn.page is not None:
                drawn.page.due_again(robots.expires_at_ms)
            return Verdict.WAIT
        if terms.sitemaps and self._list(queue, drawn, self.robots.sitemaps(origin, robots), now_ms):
            return Verdict.LIST
        delay_ms = self.robots.delay_ms(origin, robots, terms.agent)
        if delay_ms:
            host.crawl_delays_ms[origin] = delay_ms
        if verdict.state == "denied":
            why = f"{origin}/robots.txt forbids it: {verdict.rule or 'no line could be named'}."
            return self._end(queue, drawn, ("skipped", "robots"), why, now_ms)
        return Verdict.GO

    def _list(self, queue: Queue, drawn: Drawn, sitemaps: list[str], now_ms: int) -> bool:
        """Hand the origin's sitemaps to the job, once; True when the queue has to wait until that has been folded."""
        if not sitemaps:
            return False
        (job, number), key, origin = split_run_id(queue.run), queue.host.key, origin_of(drawn.seen.url)
        if self._memory.cache.value(Listing, listing_key(queue.run, key, origin)).offset >= 0:
            return False
        queue.listing_ms = now_ms + OWN_FACT_LEASE_MS
        listed = tuple(dict.fromkeys(sitemaps))[:MOST_LISTED]
        self.facts.append(
            SitemapsListed(job=job, run=number, key=key, origin=origin, sitemaps=listed, site=drawn.seen.site)
        )
        return True

    def _end(self, queue: Queue, drawn: Drawn, end: tuple[Outcome, str], why: str, now_ms: int) -> Verdict:
        """Send its outcome through the own log."""
        memory, run = self._memory, queue.run
        flight = memory.flights.get((run, drawn.fp))
        if flight is None:
            flight = memory.take_off(queue, drawn.fp, Stage.SKIPPING, drawn.page)
        memory.lease(flight, now_ms + OWN_FACT_LEASE_MS)
        fact: Parsed = dispatch_outcome(run, drawn.fp, drawn.seen, drawn.now.attempt, end, now_ms)
        self.facts.append(fact)
        self.events.append(outcome_event(run, drawn.fp, drawn.seen, drawn.now, end, (why, now_ms)))
        return Verdict.ENDED

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
