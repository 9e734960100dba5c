"""What dispatch would do with one URL now, by its own agenda and judge: `explain` is not a second opinion.

Verdicts: `fetch` (it is sent when its turn comes, and its host is free now), `robots_first`, `sitemaps_first`,
`permit_first`, `waits`,
`skipped` or `failed` (its turn would end it), `under_way`, `ended`, `unknown`.
"""

from typing import NamedTuple

from odradek_scheduler.core.hosts import Agenda
from odradek_scheduler.core.judging import Judge, Judgement, Verdict
from odradek_scheduler.core.keys import split_run_id
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import Flight, HostQueue, Queue, Stage
from odradek_scheduler.core.state import PENDING, Seen, Standing

UNDER_WAY = {
    Stage.SENT: "Its request is out.",
    Stage.ANSWERED: "It is fetched, and not yet parsed.",
    Stage.SKIPPING: "Its outcome is on the way through the log.",
}


class Foreseen(NamedTuple):
    """What comes next for a URL."""

    verdict: str
    why: str
    reason: str | None = None
    """Of skipped and failed."""
    due_ms: int | None = None
    """Of waits: not before this instant; None: not before something happens."""


class Foresight:
    """Reads a partition's memory; changes nothing."""

    def __init__(self, memory: Memory, agenda: Agenda, judge: Judge) -> None:
        self._memory, self._agenda, self._judge = memory, agenda, judge

    def next(self, run: str, fp: str, seen: Seen, now: Standing, now_ms: int) -> Foreseen:
        """For a URL that was accepted; `now`: where it stands, its job's closing included."""
        if now.state != PENDING:
            return Foreseen("ended", f"It has ended: {now.state}.", now.reason)
        terms = self._memory.terms(split_run_id(run)[0])
        flight = self._memory.flights.get((run, fp))
        if flight is not None and flight.stage in UNDER_WAY:
            return Foreseen("under_way", UNDER_WAY[flight.stage], due_ms=flight.lease_ms)
        if not terms.active:
            return Foreseen("waits", f"The job is {terms.wanted}.")
        if now.due_ms > now_ms:
            return Foreseen("waits", f"Try {now.attempt} is due later.", due_ms=now.due_ms)
        host = self._memory.hosts.get(seen.key)
        queue = None if host is None else host.queues.get(run)
        if host is None or queue is None:
            return Foreseen("waits", "Its host has not been looked at yet.", due_ms=now_ms)
        return self._on_host(queue, flight, (fp, seen), now_ms)

    def _on_host(self, queue: Queue, flight: Flight | None, url: tuple[str, Seen], now_ms: int) -> Foreseen:
        held_up = self._held_up(queue, now_ms)
        if held_up is not None:
            return held_up
        terms = self._memory.terms_of(queue)
        found = self._judge.judge(queue.run, url[1], terms, now_ms)
        if found.verdict is not Verdict.GO:
            return _judged(found)
        if found.crawl_delay_ms > queue.host.crawl_delay_ms:
            due_ms = self._agenda.free_at_ms(queue.host, now_ms, found.crawl_delay_ms)
            if due_ms is not None and due_ms > now_ms:
                return Foreseen("waits", "robots.txt asks for a longer delay.", due_ms=due_ms)
        if not terms.limited or (flight is not None and self._memory.allowance.may_send(queue, url[0])):
            return Foreseen("fetch", "It is sent when its turn comes.")
        return self._permit(queue, flight, url[0])

    def _held_up(self, queue: Queue, now_ms: int) -> Foreseen | None:
        """What keeps the whole host or queue waiting."""
        host = queue.host
        free_at_ms = self._agenda.free_at_ms(host, now_ms)
        if free_at_ms is None:
            return Foreseen("waits", f"As many requests as allowed are out to {host.key}.")
        if free_at_ms > now_ms:
            return Foreseen("waits", self._rests(host, now_ms), due_ms=free_at_ms)
        if queue.listing_ms > now_ms:
            return Foreseen("waits", "The sitemaps of its origin are handed over first.", due_ms=queue.listing_ms)
        return None

    def _permit(self, queue: Queue, flight: Flight | None, fp: str) -> Foreseen:
        if flight is not None and flight.stage is Stage.PROPOSED:
            return Foreseen("waits", "A permit is asked for.")
        if not self._memory.allowance.has_share_for(queue, fp):
            return Foreseen("waits", "As many pages of its host as max_pages_per_host leaves are under way.")
        if not self._memory.allowance.has_permit_for(queue, fp):
            return Foreseen("waits", "No permit for another page (max_pages) is free.")
        return Foreseen("permit_first", "A permit is asked for when its turn comes.")

    def _rests(self, host: HostQueue, now_ms: int) -> str:
        if self._memory.cache.host(host.key).back_off_until_ms > now_ms:
            return f"{host.key} is left alone: it has asked for it, or does not answer."
        if host.asked:
            return f"The robots.txt of {next(iter(host.asked))} is on its way."
        return f"{host.key} rests for its delay."


def _judged(found: Judgement) -> Foreseen:
    if found.end is not None:
        return Foreseen(found.end[0], found.why, found.end[1])
    verdict = {Verdict.ASK: "robots_first", Verdict.LIST: "sitemaps_first"}.get(found.verdict, "waits")
    return Foreseen(verdict, found.why, due_ms=found.due_ms)
