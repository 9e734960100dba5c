"""What one partition reports of its jobs and hosts; read-only."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from odradek.contracts import HostReport, Progress, Recount, RunPlan
from odradek_scheduler.core.attention import Attention
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.effects import Effects
from odradek_scheduler.core.hosts import Agenda
from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.keys import host_key, run_id, split_run_id
from odradek_scheduler.core.ledger import counters
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.queues import HostQueue
from odradek_scheduler.core.renewing import renewing
from odradek_scheduler.core.sitemaps import sitemap_run, standing_of
from odradek_scheduler.core.state import Ledger, Robots, unpack
from odradek_scheduler.core.tables import Tables

RECOVERING: Final = "It replays its log."
_QUIET_PART: Final = 3
"""A job unchanged for some time is reported again, its position having moved on, after a third of that time."""
_ACTIVE_MS: Final = 10_000
_QUIET_LOOK_MS: Final = 1_000
_QUIET_MOST_MS: Final = 30_000
_HOSTS_LOOKED_AT: Final = 500
_HOSTS_A_CALL: Final = 500


class _Told(NamedTuple):
    """The last report of a job: its state (what limits it comes first), where, when, and since when it is the same."""

    state: tuple[object, ...]
    position: int
    at_ms: int
    since_ms: int


class Reports:
    """Remembers what was reported, so that only news leaves."""

    def __init__(self, partition: int, cache: Cache, tables: Tables) -> None:
        self._partition, self._cache, self._tables = partition, cache, tables
        self._told: dict[str, _Told] = {}
        self._recounts: dict[str, Recount] = {}
        self.hosts_changed: dict[str, str | None] = {}
        """With each, a run that has fetched from it."""
        self._ends: dict[str, tuple[int, int]] = {}
        """Epoch and run in which a job's end was announced."""
        self._attention = Attention(self._rests)
        self._limiting: str | None = None
        self._plans: Mapping[str, RunPlan] = {}
        self._flew: tuple[str, ...] = ()

    def load(self) -> None:
        """All jobs are to be looked at, those with something pending first."""
        self._attention.begin(self._cache.jobs, lambda job: self._ledger(job).pending > 0)

    def folded(self, effects: Effects) -> None:
        """A batch has changed these jobs and hosts."""
        for job in effects.jobs:
            self._attention.call(job)
        for run in effects.runs:
            self._attention.call(split_run_id(run)[0])
        for key in effects.hosts:
            self.hosts_changed.setdefault(key, None)
        for run, _, _, key, _ in (*effects.fetched, *effects.given_back):
            self.hosts_changed[key] = run

    def counted(self, run: str, recount: Recount) -> None:
        """A run was counted afresh."""
        self._recounts[run] = recount
        self._attention.call(split_run_id(run)[0])

    def planned(self, plans: Mapping[str, RunPlan], changed: Iterable[str]) -> None:
        """What the home partition intends with recurring jobs, and of which it intends something else now."""
        self._plans = plans
        for job in changed:
            self._attention.call(job)

    def forget(self, job: str) -> None:
        """The job is purged."""
        self._told.pop(job, None)
        self._ends.pop(job, None)
        for run in [run for run in self._recounts if split_run_id(run)[0] == job]:
            del self._recounts[run]

    def ended(self, job: str, epoch: int, run: int, *, untold: bool) -> None:
        """A job's end was announced: until a newer epoch or run, nobody waits for its position.

        `untold`: what an owner before told of it last, while it recovered, lacks a recount.
        """
        self._ends[job] = (epoch, run)
        if untold and job not in self._told:
            self._attention.call(job)

    def progress(self, position: int, now_ms: int, memory: Memory | None, limiting: str | None) -> tuple[Progress, ...]:
        """Reports on jobs that have changed or whose position has moved on; `memory` None: nothing is dispatched."""
        flying = {} if memory is None else memory.out
        self._call(flying, limiting)
        found = []
        for job in self._attention.take(now_ms):
            report = self._report(job, (position, now_ms), flying, limiting)
            if report is not None:
                found.append(report if memory is None else _with_hosts(report, self._cache.job(job), memory))
            if job in self._told:
                self._attention.later(job, self._next_look_ms(job, now_ms))
        return tuple(found)

    def _call(self, flying: dict[str, int], limiting: str | None) -> None:
        """Jobs that something happened to without a fact: requests left or were given up, or all are held back."""
        for run in (*self._flew, *flying):
            self._attention.call(split_run_id(run)[0])
        self._flew = tuple(flying)
        if limiting != self._limiting:
            self._limiting = limiting
            for job in self._told:
                if not self._rests(job):
                    self._attention.call(job)

    def _report(self, job: str, at: tuple[int, int], flying: dict[str, int], limiting: str | None) -> Progress | None:
        """One job's report, if there is news; `at`: position, and time."""
        position, now_ms = at
        record = self._cache.job(job)
        if record.purged:
            return None
        run = run_id(job, record.run)
        ledger, mapped = self._cache.ledger(run), self._cache.ledger(sitemap_run(run))
        recount, out = self._recounts.get(run), flying.get(run, 0)
        renews, plan = renewing(self._cache, job, record.run), self._plans.get(job)
        state = (limiting, run, ledger.offset, mapped.offset, record.version, record.epoch, out, recount, renews, plan)
        if record.version < 0 or not self._is_news(job, state, position, now_ms):
            return None
        return Progress(
            job=job, partition=self._partition, offset=position, epoch=record.epoch, counters=counters(ledger),
            run=record.run, version=record.version, in_flight=out, recount=recount,
            closed=ledger.closed_by, recovering=limiting == RECOVERING, limiting=limiting,
            sitemaps=standing_of(mapped), renewing=renews, plan=plan, at_ms=now_ms,
        )  # fmt: skip

    def _ledger(self, job: str) -> Ledger:
        return self._cache.ledger(run_id(job, self._cache.job(job).run))

    def _rests(self, job: str) -> bool:
        """Nobody waits for news of it; what was told while the log was replayed lacks a recount and is told again."""
        told = self._told.get(job)
        if told is not None and told.state[0] == RECOVERING:
            return False
        end, record = self._ends.get(job), self._cache.job(job)
        return end is not None and record.epoch <= end[0] and record.run <= end[1]

    def _is_news(self, job: str, state: tuple[object, ...], position: int, now_ms: int) -> bool:
        told = self._told.get(job)
        if told is None or told.state != state:
            self._told[job] = _Told(state, position, now_ms, since_ms=now_ms)
        elif told.position == position or now_ms < self._again_ms(job):
            return False
        else:
            self._told[job] = _Told(state, position, now_ms, told.since_ms)
        return True

    def _again_ms(self, job: str) -> int:
        """When a job that stays as it is may be reported again, its position having moved on."""
        told = self._told[job]
        return told.at_ms + min(_QUIET_MOST_MS, (told.at_ms - told.since_ms) // _QUIET_PART)

    def _next_look_ms(self, job: str, now_ms: int) -> int:
        """A job that was active of late is looked at each time, a quiet one every second."""
        since_ms = self._told[job].since_ms
        return max(self._again_ms(job), now_ms + (_QUIET_LOOK_MS if now_ms > since_ms + _ACTIVE_MS else 0))

    def hosts(self, now_ms: int, memory: Memory, agenda: Agenda) -> tuple[HostReport, ...]:
        """Hosts that something was learned of since the last call, a bounded number of them."""
        changed = list(islice(self.hosts_changed.items(), _HOSTS_A_CALL))
        for key, _ in changed:
            del self.hosts_changed[key]
        return tuple(self._host(key, run, now_ms, memory, agenda) for key, run in changed)

    def _host(self, key: str, run: str | None, now_ms: int, memory: Memory, agenda: Agenda) -> HostReport:
        """What is known of one host; with nothing pending there, the pace of the run that has fetched from it."""
        record = self._cache.host(key)
        queue = memory.hosts.get(key) or HostQueue(key)
        pace = agenda.pace(queue, others=() if run is None else (memory.terms(split_run_id(run)[0]),))
        prefix = host_key(key) + b"\0"
        robots = {
            name[len(prefix) :].decode(): robots_state(unpack(Robots, value))
            for name, value in self._tables.scan("hosts", prefix)
        }
        return HostReport(
            key=key, delay_ms=pace.delay_ms, concurrency=pace.concurrency, in_flight=queue.pace.in_flight,
            pending_pages=sum(len(each.ready) + len(each.waiting) + len(each.loaded) for each in queue.queues.values()),
            back_off_until_ms=record.back_off_until_ms if record.back_off_until_ms > now_ms else None,
            error_streak=record.streak, crawl_delay_ms=queue.crawl_delay_ms, clamped=_clamped(queue, memory),
            blocked=record.blocked, robots=robots, fetches=record.fetches,
            failures=record.failures, mean_latency_ms=record.latency_ms,
            last_fetched_at_ms=record.last_at_ms or None, at_ms=now_ms,
        )  # fmt: skip


def _clamped(host: HostQueue, memory: Memory) -> str | None:
    """What robots.txt asks for and no job gives it."""
    terms = [memory.terms(queue.job) for queue in host.queues.values()]
    most_ms = max((each.max_delay_ms for each in terms if each.active and each.respect_robots), default=None)
    if most_ms is None or host.crawl_delay_ms <= most_ms:
        return None
    asked_s = host.crawl_delay_ms / 1000
    return (
        f"robots.txt asks for {asked_s:g} s between requests; politeness.max_delay clamps it to {most_ms / 1000:g} s."
    )


def robots_state(robots: Robots) -> str:
    """An origin's robots.txt in a few words."""
    if robots.text is None:
        return f"denied: no answer that counts ({robots.reason or robots.status})"
    return "rules" if robots.text else "allowed"


def _with_hosts(report: Progress, record: Job, memory: Memory) -> Progress:
    run = run_id(report.job, record.run)
    queues = memory.queues.get(run, {})
    looked_at = list(islice(queues.values(), _HOSTS_LOOKED_AT))
    dues = [queue.host.due_ms for queue in looked_at]
    later = [due for due in dues if due is not None and due > report.at_ms]
    share = len(queues) / len(looked_at) if looked_at else 0
    return replace(
        report,
        hosts_open=len(queues),
        hosts_waiting=round(len(later) * share),
        next_due_ms=min(later) if later and not any(due is not None and due <= report.at_ms for due in dues) else None,
        limiting=report.limiting or _limiting(report, memory, run, (len(looked_at), later)),
    )


def _limiting(report: Progress, memory: Memory, run: str, hosts: tuple[int, list[int]]) -> str | None:
    terms = memory.terms(report.job)
    if not terms.readable:
        return "This scheduler cannot read the job's specification."
    if terms.wanted != "running":
        return f"The job is {terms.wanted}."
    if not report.counters.pending:
        count = report.sitemaps.get("pending", 0)
        return f"It waits for {count} sitemaps." if count else None
    if terms.max_pages is not None and memory.allowance.left(run) <= 0 and not report.in_flight:
        return "No permit for another page (max_pages) is free."
    looked_at, later = hosts
    if later and len(later) == looked_at:
        backing_off = sum(
            memory.cache.host(key).back_off_until_ms > report.at_ms
            for key in islice(memory.queues.get(run, {}), _HOSTS_LOOKED_AT)
        )
        return (
            f"All {looked_at} hosts rest, {backing_off} of them because they asked for it or do not answer."
            if backing_off
            else f"All {looked_at} hosts rest for their delay."
        )
    return None
