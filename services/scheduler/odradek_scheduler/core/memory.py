"""What one partition keeps in memory while it dispatches: host queues, URLs with something going on, leases.

It is built from the tables at take-over and learns from every batch; nothing in it is ever written. Its size follows
the number of hosts and backlog pages, and of URLs in flight, never the number of pending URLs.
"""

from collections.abc import Iterator
from heapq import heappush

from odradek_scheduler.core.allowance import Allowance
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.clearing import Clearing
from odradek_scheduler.core.keys import seen_key, share_key, split_run_id
from odradek_scheduler.core.leases import Leased, Leases
from odradek_scheduler.core.purging import Purging
from odradek_scheduler.core.queues import Flight, HostQueue, OpenPage, Queue, Stage
from odradek_scheduler.core.rereading import Rereading
from odradek_scheduler.core.sitemaps import is_sitemap_run
from odradek_scheduler.core.state import PENDING, HostShare, Seen, standing, unpack
from odradek_scheduler.core.tables import Tables
from odradek_scheduler.core.terms import Terms, terms_of


class Memory:
    """Host queues and flights of one partition."""

    def __init__(self, cache: Cache, tables: Tables, agent: str) -> None:
        self.cache = cache
        self._tables = tables
        self._agent = agent
        self._terms: dict[str, Terms] = {}
        self.hosts: dict[str, HostQueue] = {}
        self.queues: dict[str, dict[str, Queue]] = {}
        """By run, then by host."""
        self.flights: dict[tuple[str, str], Flight] = {}
        """By run and fingerprint."""
        self.allowance = Allowance(cache, self.terms)
        self.sent = 0
        """Requests without an answer, robots.txt included."""
        self.unparsed = 0
        self.clearing = Clearing(tables)
        self.purging = Purging(tables)
        self.rereading = Rereading(tables, self.add_page)
        self.crowded: dict[Queue, None] = {}
        """Queues with many small pages."""
        self.out: dict[str, int] = {}
        """Requests sent and not parsed yet, by run."""
        self.touched: dict[HostQueue, None] = {}
        """Hosts to be looked at in the next dispatch."""
        self._leases = Leases(self._runs)

    # ---- pages and runs

    def add_page(self, run: str, key: str, place: tuple[int, int], urls: int) -> None:
        """A new backlog page; `place`: priority and batch offset."""
        queue = self.queue(run, key)
        if queue.add(*place, urls):
            self.crowded[queue] = None

    def close(self, run: str) -> None:
        """Nothing of the run is sent any more; what is out keeps its host busy until the answer comes.

        Its pages end, unless a higher limit may open it again.
        """
        for (flight_run, _), flight in list(self.flights.items()):
            if flight_run == run:
                if flight.stage not in (Stage.SENT, Stage.ANSWERED):
                    self.land(flight, 0)
                flight.page = None
        self.allowance.forget(run)
        self.rereading.forget(run)
        for queue in self.queues.pop(run, {}).values():
            queue.dead = True
            self.crowded.pop(queue, None)
            if not self.cache.ledger(run).sated:
                self.clearing.end(queue)
            queue.host.queues.pop(run, None)
            self.touched[queue.host] = None

    def purge(self, job: str) -> None:
        """Nothing of the job is kept here, and its rows end."""
        for run in [run for run in self.queues if split_run_id(run)[0] == job]:
            self.close(run)
        self._terms.pop(job, None)
        self.purging.begin(job)

    def reopen(self, run: str, offset: int) -> None:
        """A reached budget had closed the run and a higher one has opened it with the batch at this offset."""
        self.rereading.begin(run, offset)
        self.rereading.step()
        for (flight_run, _), flight in self.flights.items():
            if flight_run == run and flight.queue.dead:
                flight.queue = self.queue(run, flight.queue.host.key)
                flight.queue.going += 1
        self.adopt_holders(run)

    def adopt_holders(self, run: str) -> None:
        """Whoever holds a permit is sent before others ask for one."""
        for fp in self.holders(run):
            self.adopt(run, fp)

    def holders(self, run: str) -> Iterator[str]:
        """URLs with a permit of the job, or a share of their host, of which there may be hundreds of thousands."""
        ledger = self.cache.ledger(run)
        if not ledger.pending:
            return
        yield from tuple(ledger.holders)
        if ledger.host_limits:
            for _, value in self._tables.scan("ledger", share_key(run, "")):
                yield from unpack(HostShare, value).holders

    def under_way(self, run: str) -> Iterator[str]:
        """URLs whose page may still be kept, whether they hold a permit or not."""
        for (flight_run, fp), flight in self.flights.items():
            if flight_run == run and flight.stage in (Stage.SENT, Stage.ANSWERED) and not flight.settled:
                yield fp

    def adopt(self, run: str, fp: str, due_ms: int = 0) -> None:
        """A URL holds a permit and nothing is going on with it: it will be sent before others ask for one."""
        value = self._tables.get("seen", seen_key(run, fp))
        seen = None if value is None else unpack(Seen, value)
        if seen is None or (run, fp) in self.flights:
            return
        now = standing(seen.steps)
        if now.state == PENDING:
            flight = self.take_off(self.queue(run, seen.key), fp, Stage.HELD, None)
            if due_ms := max(now.due_ms, due_ms):
                flight.end_readying()
            self.hold(flight, due_ms)

    # ---- looking up

    def terms(self, job: str) -> Terms:
        """What a job asks for."""
        record = self.cache.job(job)
        known = self._terms.get(job)
        if known is None or (known.version, known.run) != (record.version, record.run):
            known = self._terms[job] = terms_of(record, self._agent)
        return known

    def terms_of(self, queue: Queue) -> Terms:
        """What applies to a queue: no limits for one of sitemaps."""
        terms = self.terms(queue.job)
        return terms.for_sitemaps if is_sitemap_run(queue.run) else terms

    def queue(self, run: str, key: str) -> Queue:
        """The queue of a run for a host, made when there is none."""
        host = self.hosts.get(key)
        if host is None:
            host = self.hosts[key] = HostQueue(key)
            host.pace.rests = self._rests(run, key)
        found = host.queues.get(run)
        if found is None:
            found = host.queues[run] = Queue(run, host, depth_first=self.terms(split_run_id(run)[0]).depth_first)
            self.queues.setdefault(run, {})[key] = found
        self.touched[host] = None
        return found

    def _rests(self, run: str, key: str) -> list[int]:
        last_at_ms = self.cache.host(key).last_at_ms
        return [last_at_ms] * self.terms(split_run_id(run)[0]).concurrency if last_at_ms else []

    def feed(self, run: str) -> bool:
        """Permits may be there again; True: for queues that had found none."""
        queues = self.allowance.fed(run)
        for queue in queues:
            self.touched[queue.host] = None
        return bool(queues)

    # ---- flights

    def take_off(self, queue: Queue, fp: str, stage: Stage, page: OpenPage | None) -> Flight:
        """Something begins with a URL."""
        flight = self.flights[queue.run, fp] = Flight(queue, fp, stage, page)
        if page is not None:
            page.flights += 1
        queue.going += 1
        if stage in (Stage.PROPOSED, Stage.HELD):
            flight.make_ready()
        if stage is Stage.PROPOSED:
            self.allowance.count_proposed(queue, 1)
        return flight

    def propose(self, flight: Flight, lease_ms: int) -> None:
        """A permit that it lacks is asked for (again)."""
        if flight.stage is Stage.HELD:
            flight.stage = Stage.PROPOSED
            flight.make_ready()
            self.allowance.count_proposed(flight.queue, 1)
        self.lease(flight, lease_ms)

    def hold(self, flight: Flight, due_ms: int) -> None:
        """It has a permit and can be sent from then on."""
        if flight.stage is Stage.PROPOSED:
            flight.stage = Stage.HELD
            self.allowance.count_proposed(flight.queue, -1)
        flight.lease_ms = 0
        heappush(flight.queue.permitted, (due_ms, flight.fp))

    def to_sent(self, flight: Flight, attempt: int, sent_at_ms: int, lease_ms: int) -> None:
        """Its request leaves."""
        flight.end_readying()
        flight.stage, flight.attempt, flight.sent_at_ms = Stage.SENT, attempt, sent_at_ms
        self.sent += 1
        run = flight.queue.run
        self.out[run] = self.out.get(run, 0) + 1
        self.lease(flight, lease_ms)

    def lease(self, what: Leased, until_ms: int) -> None:
        """Without news by then, it is taken for lost."""
        if isinstance(what, Flight):
            what.lease_ms = until_ms
        self._leases.add(what, until_ms, len(self.flights) + self.sent)

    def _runs(self, until_ms: int, what: Leased) -> bool:
        """True while a lease can still pass: nothing has ended or replaced it."""
        if isinstance(what, Flight):
            return what.lease_ms == until_ms and self.flights.get((what.queue.run, what.fp)) is what
        return what[0].asked.get(what[1]) == until_ms

    def land(self, flight: Flight, due_ms: int | None) -> None:
        """Nothing is going on any more; `due_ms` None: the URL has ended."""
        queue = flight.queue
        del self.flights[queue.run, flight.fp]
        queue.going -= 1
        queue.full = False
        self.leave(flight)
        self.off_page(flight, due_ms)
        self.touched[queue.host] = None

    def come_down(self, flight: Flight, due_ms: int = 0) -> None:
        """As `land`, for a URL that is due again; with a permit it is held, so that no lease has to pass."""
        self.land(flight, due_ms)
        if not flight.queue.dead and self.allowance.holds(flight.queue, flight.fp):
            self.adopt(flight.queue.run, flight.fp, due_ms)

    def leave(self, flight: Flight) -> None:
        """What its stage has occupied is free again."""
        queue = flight.queue
        if flight.stage in (Stage.SENT, Stage.ANSWERED):
            self._count_in(queue.run)
        flight.end_readying()
        if flight.stage is Stage.PROPOSED:
            self.allowance.count_proposed(queue, -1)
        elif flight.stage is Stage.ANSWERED:
            self.unparsed -= 1
        elif flight.stage is Stage.SENT:
            self.free(queue.host)

    def _count_in(self, run: str) -> None:
        left = self.out[run] = self.out[run] - 1
        if not left:
            del self.out[run]

    def free(self, host: HostQueue) -> None:
        """A request of the host is answered, or taken for lost; its delay begins."""
        host.pace.in_flight -= 1
        host.answers += 1
        self.sent -= 1
        self.touched[host] = None

    def off_page(self, flight: Flight, due_ms: int | None) -> None:
        """Its page has one flight less; `due_ms` as for `land`."""
        page, queue = flight.page, flight.queue
        flight.page = None
        if page is None or queue.dead:
            return
        page.flights -= 1
        if due_ms is None:
            page.remaining -= 1
        else:
            page.due_again(due_ms)
        if not page.remaining:
            self.empty(queue, page)
        elif page.resting:
            queue.rest(page)
        elif not page.flights and page is not queue.current:
            queue.loaded.pop(page.code, None)

    def empty(self, queue: Queue, page: OpenPage) -> None:
        """A page has no open URL left."""
        queue.loaded.pop(page.code, None)
        if queue.current is page:
            queue.current = None
        self.clearing.add(queue, page.code)

    def expire(self, now_ms: int) -> None:
        """Leases that have passed: the URL is due again, with the same try."""
        while (what := self._leases.lapsed(now_ms)) is not None:
            if isinstance(what, Flight):
                self.come_down(what, now_ms)
            else:
                del what[0].asked[what[1]]
                self.free(what[0])

    def next_lease_ms(self) -> int | None:
        """When the next lease may pass."""
        return self._leases.next_ms()
