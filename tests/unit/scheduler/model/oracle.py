"""The laws, judged after every step and at the end. The reference is a partition that never crashes.

The reference runs the same fold, so an error common to both does not show in the comparison of values; the other laws
(tables against ledger, lost, stuck, pages left behind, kept, early completion, impolite) do not depend on it.
"""

from odradek.contracts import OUTCOMES, Discovered
from odradek_scheduler.core.keys import ledger_key, run_id
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.state import PENDING, SATED, Ledger, Page, standing, unpack
from odradek_scheduler.core.tables import TableName, value_offset

from .scheduler import Scheduler
from .store import Store
from .world import JOB, Violation, World


class Reference:
    """Folds one partition's log without ever crashing, and remembers every version of every value."""

    def __init__(self, number: int, partitions: int) -> None:
        self.store = Store()
        self.core = Partition(number, partitions, self.store, Limits())
        self.versions: dict[tuple[TableName, bytes], dict[int, bytes]] = {}

    def follow(self, scheduler: Scheduler) -> None:
        while self.core.position < len(scheduler.log):
            offset = self.core.position
            for write in self.core.fold(scheduler.log[offset], offset):
                self.store.put(write)
                if write.value is not None:
                    self.versions.setdefault((write.table, write.key), {})[write.offset] = write.value

    def ledger(self, run: int) -> Ledger:
        value = self.store.get("ledger", ledger_key(run_id(JOB, run)))
        return Ledger() if value is None else unpack(Ledger, value)


class Oracle:
    def __init__(self, world: World) -> None:
        self.world = world
        count = world.scenario.partitions
        self.references = [Reference(number, count) for number in range(count)]
        self._judged_complete = False
        self._judged: dict[int, int] = {}

    def judge(self) -> None:
        """After every step."""
        for scheduler, reference in zip(self.world.schedulers, self.references, strict=True):
            reference.follow(scheduler)
            if self._judged.get(scheduler.number) == scheduler.store.changes:
                continue
            self._judged[scheduler.number] = scheduler.store.changes
            _versions(scheduler, reference)
            for run in [sign * number for number in range(1, self.world.run + 1) for sign in (1, -1)]:
                ledger = scheduler.ledger(run)
                _equations(scheduler.number, ledger)
                _counted(scheduler, ledger, run)
        self._limits()
        if self.world.complete is None:
            self._judged_complete = False
        elif not self._judged_complete:
            self._judged_complete = True
            self._not_early()

    def _limits(self) -> None:
        scenario = self.world.scenario
        limit = scenario.highest_limit
        if limit is None and not scenario.late_limits and scenario.max_pages_per_host is None:
            return
        kept = [reference.ledger(self.world.run).kept for reference in self.references]
        if limit is None and scenario.late_limits and len(self.world.counted) == scenario.partitions:
            limit = max(*scenario.late_limits, sum(self.world.counted.values())) + self.world.overdue
        if limit is not None and sum(kept) > limit:
            raise Violation(f"budget: {sum(kept)} pages kept, {limit} allowed")
        if scenario.max_pages_per_host is not None and max(kept) > scenario.max_pages_per_host:
            raise Violation(f"budget: {max(kept)} pages of a host kept, allowed {scenario.max_pages_per_host}")

    def _not_early(self) -> None:
        if self.world.submitting:
            raise Violation("early: completion was announced with seeds still to be sent")
        run = self.world.run
        for number, reference in enumerate(self.references):
            pending = reference.ledger(run).pending + reference.ledger(-run).pending
            if pending:
                raise Violation(f"early: completion was announced, partition {number} has {pending} pending")
        for scheduler in self.world.schedulers if run > 1 else ():
            left = scheduler.seen(run - 1).keys() - scheduler.seen(run).keys()
            if left and not _closed_for_good(scheduler.ledger(run)):
                raise Violation(f"forgotten: run {run} has ended, and {sorted(left)} of the run before is not in it")

    def judge_end(self) -> None:
        """After the drain."""
        world = self.world
        if world.complete is None:
            self._why_stuck()
            raise Violation("never: completion was not announced")
        closed = any(_closed_for_good(scheduler.ledger()) for scheduler in world.schedulers)
        for scheduler in world.schedulers:
            self._end_of(scheduler)
        self._why_stuck()
        if not closed:
            self._nothing_lost()
        if world.scenario.expires_s is not None:
            self._expired()
        else:
            self._kept()
        for url in world.items:
            scheduler = world.schedulers[world.scenario.part[url]]
            if world.scenario.kind.get(url) == "contra" and standing(scheduler.seen()[url].steps).state == "failed":
                raise Violation(f"items of {url} are stored, the ledger says failed")

    def _why_stuck(self) -> None:
        for scheduler in self.world.schedulers:
            if scheduler.ledger().closed_at is None:
                pages = [unpack(Page, value).fps for _, value in scheduler.store.scan("backlog", b"")]
                for url, seen in scheduler.seen().items():
                    if standing(seen.steps).state == PENDING:
                        raise Violation(f"stuck: {url} has no outcome (in a page: {any(url in fps for fps in pages)})")

    def _end_of(self, scheduler: Scheduler) -> None:
        ledger, seen = scheduler.ledger(), scheduler.seen()
        mapped = scheduler.seen(-self.world.run)
        if ledger.pending or scheduler.ledger(-self.world.run).pending:
            raise Violation(f"stuck: ledger of partition {scheduler.number} has {ledger.pending} pending at the end")
        for batch in scheduler.log:
            for fact in batch.facts:
                if (
                    isinstance(fact, Discovered)
                    and fact.job == JOB
                    and abs(fact.run) == self.world.run
                    and fact.fp not in (seen if fact.run > 0 else mapped)
                    and not _closed_for_good(ledger)
                ):
                    raise Violation(f"lost: {fact.fp} is in the log and not in seen")
        if ledger.sated:
            return
        for key, value in scheduler.store.scan("backlog", b"j\0"):
            fps = unpack(Page, value).fps
            raise Violation(f"left behind: page {key!r} {fps}, all its URLs have ended")

    def _nothing_lost(self) -> None:
        world = self.world
        reach: set[str] = set()
        sated = any(scheduler.ledger().sated for scheduler in world.schedulers)
        later = () if "seed" in world.controls else world.scenario.later
        stack = [*world.scenario.seeds, *later, *(() if sated else self._mapped())]
        while stack:
            url = stack.pop()
            if url in reach:
                continue
            reach.add(url)
            seen = world.schedulers[world.scenario.part[url]].seen().get(url)
            if seen is None:
                raise Violation(f"lost: {url} is linked from a fetched page and was never accepted")
            if standing(seen.steps).state == "fetched":
                stack += world.scenario.graph.get(url, ())

    def _mapped(self) -> list[str]:
        """What sitemaps name; every one has been read, or has failed."""
        scenario, found = self.world.scenario, []
        for sitemap in scenario.sitemaps:
            states = {
                standing(seen.steps).state
                for seen in self.world.schedulers[scenario.part[sitemap]].seen(-self.world.run).values()
                if seen.url == scenario.url(sitemap)
            }
            if not states or not states <= {"fetched", "failed"}:
                raise Violation(f"lost: the sitemap {sitemap} is {states or 'not known'}")
            found += scenario.graph[sitemap] if states == {"fetched"} else ()
        return found

    def _kept(self) -> None:
        scenario = self.world.scenario
        limit, highest = scenario.last_limit, scenario.highest_limit
        if (scenario.max_pages is None and not scenario.limits) or "cancel" in scenario.controls:
            return
        kept = sum(scheduler.ledger().kept for scheduler in self.world.schedulers)
        if scenario.max_pages_per_host is not None:
            return
        available = sum(
            scenario.kind.get(url, "ok") in ("ok", "flaky") for url in scenario.part if url not in scenario.sitemaps
        )
        least, most = (available if each is None else min(each, available) for each in (limit, highest))
        if not least <= kept <= most:
            raise Violation(f"available: {kept} pages kept, {least} were to be had, {most} allowed")

    def _expired(self) -> None:
        for scheduler in self.world.schedulers:
            if scheduler.ledger().closed_by not in ("expired", SATED):
                raise Violation(f"expiry: partition {scheduler.number} has not heard of it")


def _closed_for_good(ledger: Ledger) -> bool:
    return ledger.closed_at is not None and not ledger.sated


def _equations(number: int, ledger: Ledger) -> None:
    outcomes = sum(getattr(ledger, outcome) for outcome in OUTCOMES)
    if ledger.accepted != ledger.pending + outcomes or ledger.pending < 0:
        raise Violation(f"equation: partition {number}: accepted, pending, outcomes in {ledger}")
    if ledger.links_found != ledger.accepted + ledger.duplicates + ledger.refused:
        raise Violation(f"equation: partition {number}: links in {ledger}")
    for outcome in ("skipped", "failed", "refused"):
        if sum(ledger.reasons.get(outcome, {}).values()) != getattr(ledger, outcome):
            raise Violation(f"equation: partition {number}: reasons of {outcome} in {ledger}")


def _versions(scheduler: Scheduler, reference: Reference) -> None:
    """Each value without history is what the log says at the offset it carries."""
    tables: tuple[TableName, ...] = ("ledger", "hosts")
    for table in tables:
        for key, value in scheduler.store.scan(table, b""):
            said = reference.versions.get((table, key), {}).get(value_offset(table, value))
            if said != value:
                raise Violation(f"version: partition {scheduler.number}: {key!r} is {value!r}, the log says {said!r}")


def _counted(scheduler: Scheduler, ledger: Ledger, run: int) -> None:
    """The second, independent count, once the partition has caught up."""
    if scheduler.core.position < scheduler.highest or _closed_for_good(ledger):
        return
    pending = sum(standing(seen.steps).state == PENDING for seen in scheduler.seen(run).values())
    said = ledger.reasons.get("skipped", {}).get(SATED, 0) if ledger.sated else ledger.pending
    if pending != said:
        raise Violation(f"recount: partition {scheduler.number}: the ledger says {said} open, in seen {pending}")
