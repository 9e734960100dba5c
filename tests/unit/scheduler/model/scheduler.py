"""The shell of one partition as the model has it: folds, dispatches, flushes, commits, and dies at any point."""

from typing import TYPE_CHECKING, Any

import msgspec

from odradek.contracts import Batch, Fact, JobChanged, PermitsReported, Reserve
from odradek_scheduler.core.keys import ledger_key, run_id, split_page_key
from odradek_scheduler.core.partition import Limits, Partition
from odradek_scheduler.core.state import PENDING, Ledger, Seen, pack, standing, unpack
from odradek_scheduler.core.tables import Write

from .store import Store

if TYPE_CHECKING:
    from .world import World

RUN = run_id("j", 1)
LONGEST_LEASE_MS = 60_000
LIMITS = Limits(visits=50, urls_kept=1)
"""Of two pages that are worked through, one is always to be read again."""


class Scheduler:
    def __init__(self, world: "World", number: int) -> None:
        self.world, self.number = world, number
        self.store = Store()
        self.committed = 0
        self.out: list[tuple[str, Any]] = []
        self.untold: list[tuple[str, Any]] = []
        """What follows from batches, with the rule off that it leaves before they are committed."""
        self.highest = 0
        """The furthest position any owner has reached."""
        self.sent: dict[str, int] = {}
        """The newest try of each page that any owner has sent."""
        self._limit: int | None = None
        self._boot()

    def _boot(self) -> None:
        world = self.world
        self.core = Partition(self.number, world.scenario.partitions, self.store, LIMITS)
        self.core.load()
        self.core.resume_at(self.committed)
        self.core.catch_up_to(len(world.frontier[self.number]))
        if world.reached is not None:
            self.core.ended(world.reached)
        self.deadline_ms = world.now_ms + LONGEST_LEASE_MS
        self.waits_for_requests = [index for index in world.open_requests() if self._mine(world.scheduled[index].key)]
        self.waits_for_pages: list[int] | None = None
        if "take_over" in world.scenario.broken:
            self.core = Partition(self.number, world.scenario.partitions, self.store, LIMITS)
            self.core.load()
            self.core.resume_at(self.committed)
            self.core.release(world.now_ms)

    def _mine(self, key: str) -> bool:
        return key == f"h{self.number}.example"

    @property
    def log(self) -> list[Batch]:
        return self.world.frontier[self.number]

    def ledger(self, run: int | None = None) -> Ledger:
        """Of a run; None: of the newest."""
        value = self.store.get("ledger", ledger_key(run_id("j", run or self.world.run)))
        return Ledger() if value is None else unpack(Ledger, value)

    def seen(self, run: int | None = None) -> dict[str, Seen]:
        prefix = f"{run_id('j', run or self.world.run)}\0".encode()
        return {key[len(prefix) :].decode(): unpack(Seen, value) for key, value in self.store.scan("seen", prefix)}

    def backlog(self) -> list[tuple[str, str, int, int]]:
        return [split_page_key(key) for key, _ in self.store.scan("backlog", b"")]

    # ---- what can happen

    def actions(self) -> list[tuple[str, "Scheduler"]]:
        world, found = self.world, []
        behind = self.core.position < len(self.log)
        if behind:
            found += ["process"] * 3
        if self.core.position > self.committed or self.out:
            found.append("commit")
        if self.out:
            found.append("flush")
        if not world.draining and world.crashes_left > 0 and (self.core.position > self.committed or behind):
            found.append("crash")
        if self.can_dispatch():
            found += ["dispatch"] * 2
        if not self.core.dispatching and self._barrier_passed():
            found.append("release")
        if self.store.haunted:
            found.append("wake_zombie")
        if self.store.may_come_back and not world.draining and world.crashes_left > 0:
            found.append("come_back")
        return [(name, self) for name in found]

    def can_dispatch(self) -> bool:
        wake = self.core.wake_at_ms(self.world.now_ms)
        return wake is not None and wake <= self.world.now_ms

    def _barrier_passed(self) -> bool:
        world = self.world
        if world.now_ms < self.deadline_ms:
            if not all(world.fetched[index] for index in self.waits_for_requests):
                return False
            if self.waits_for_pages is None:
                self.waits_for_pages = [i for i, done in enumerate(world.parsed) if not done]
                self.core.catch_up_to(len(self.log))
            if not all(world.parsed[index] for index in self.waits_for_pages):
                return False
        return not self.core.recovering

    def release(self) -> None:
        self.core.catch_up_to(len(self.log))
        if not self.core.recovering:
            self.core.release(self.world.now_ms)
            self.world.say(f"scheduler {self.number}: dispatches from now on")

    def process(self) -> None:
        world, offset = self.world, self.core.position
        if offset + 1 > self.highest:
            self._note_limits(self.log[offset])
        self.highest = max(self.highest, offset + 1)
        writes = self._sabotaged(self.core.fold(self.log[offset], offset))
        told = [("frontier", (_partition_of(fact), [fact])) for _, fact in self.core.told]
        self.core.told = []
        kill_at = None
        if not world.draining and world.crashes_left > 0 and world.choose(6) == 1:
            kill_at = world.choose(len(writes) + 1)
        for write in writes[:kill_at]:
            self.store.put(write)
        world.say(f"scheduler {self.number}: batch {offset} {_short(self.log[offset])}")
        if kill_at is not None:
            world.say(f"   KILLED after {kill_at} of {len(writes)} writes")
            self.crash()
            return
        self.out += [] if "told_first" in world.scenario.broken else told
        self.untold += told if "told_first" in world.scenario.broken else []
        self.report()

    def _note_limits(self, batch: Batch) -> None:
        """A limit, and there was none: what is kept and under way counts, whatever the limit is."""
        for fact in batch.facts:
            if not isinstance(fact, JobChanged) or fact.spec is None:
                continue
            before, self._limit = self._limit, self.world.limit_of[fact.version]
            if before is None and self._limit is not None:
                now = {fp: standing(seen.steps) for fp, seen in self.seen().items()}
                under_way = sum(
                    fp in now and (now[fp].state, now[fp].attempt) == (PENDING, attempt)
                    for fp, attempt in self.sent.items()
                )
                self.world.counted[self.number] = self.ledger().kept + under_way

    def report(self) -> None:
        self.out += [("progress", report) for report in self.core.progress(self.world.now_ms)]

    def dispatch(self) -> None:
        world = self.world
        sent = self.core.dispatch(world.now_ms, 1 + world.choose(3))
        for request in sent.requests:
            world.request_leaves(request)
            if request.kind == "page":
                self.sent[request.fp] = request.attempt
            world.say(f"scheduler {self.number}: sends {request.kind} {request.url} try {request.attempt}")
            self.out.append(("scheduled", request))
        for partition, told in sent.facts:
            fact = self._misled(told)
            world.say(f"scheduler {self.number}: tells {partition} {fact}")
            self.out.append(("frontier", (partition, [fact])))
        self.report()

    def flush(self) -> None:
        count = 1 + self.world.choose(len(self.out))
        self._deliver(count)
        self.store.flush_some(self.world.choose)

    def _deliver(self, count: int) -> None:
        now, self.out = self.out[:count], self.out[count:]
        for topic, message in now:
            self.world.deliver(topic, message)

    def commit(self) -> None:
        self._deliver(len(self.out))
        if "flush_before_commit" not in self.world.scenario.broken:
            self.store.flush()
        self.committed = self.core.position
        self.out, self.untold = self.out + self.untold, []
        self.report()
        self.world.say(f"scheduler {self.number}: committed {self.committed}")

    def crash(self) -> None:
        """An arbitrary prefix of what goes to each partition of a topic was sent, of each changelog too."""
        self._lose()
        zombie, newest_wins = self.world.scenario.zombie, "newest_wins" not in self.world.scenario.broken
        self.store.crash(self.world.choose, zombie=zombie, newest_wins=newest_wins)
        self._begin_again("KILLED")

    def come_back(self) -> None:
        """The partition is taken away, and goes to a former owner that was only paused."""
        self._lose()
        self.store.come_back(self.world.choose, newest_wins="newest_wins" not in self.world.scenario.broken)
        self._begin_again("LOST to a former owner")

    def _lose(self) -> None:
        world = self.world
        world.crashes_left -= 1
        logs: dict[tuple[str, int], list[Any]] = {}
        for topic, message in self.out:
            logs.setdefault((topic, message[0] if topic == "frontier" else 0), []).append(message)
        for (topic, _), mine in sorted(logs.items()):
            sent = world.choose(len(mine) + 1)
            for message in mine[:sent]:
                world.deliver(topic, message)
            if topic == "scheduled":
                for message in mine[sent:]:
                    world.request_died(message)
        self.out, self.untold = [], []

    def _begin_again(self, why: str) -> None:
        if "ledger_offset" in self.world.scenario.broken:
            self._forget_ledger_offset()
        self._boot()
        if self.number == self.world.home:
            self.world.new_home()
        self.world.say(f"scheduler {self.number}: {why}, goes on at {self.committed}, ledger at {self.ledger().offset}")

    def wake_zombie(self) -> None:
        self.store.wake_zombie(self.world.choose, by_commit="persisted_by_commit" not in self.world.scenario.broken)
        self.world.say(f"scheduler {self.number}: a paused former owner sends its buffered changelog records")

    # ---- rules switched off

    def _sabotaged(self, writes: tuple[Write, ...]) -> list[Write]:
        broken = self.world.scenario.broken
        found = list(writes)
        if "replay_writes" in broken:
            found = [each for each in found if self.store.get(each.table, each.key) != each.value]
        if "history" in broken:
            found = [_without_history(each) for each in found]
        if "merge_order" in broken:
            found.sort(key=lambda each: each.table == "backlog" and each.value is not None)
        if "closing_fact" in broken:
            found = [each for each in found if each.table != "ledger" or b'"cancelled"' not in (each.value or b"")]
        return found

    def _misled(self, fact: Fact) -> Fact:
        broken = self.world.scenario.broken
        if isinstance(fact, Reserve) and fact.version and "under_way" in broken:
            return msgspec.structs.replace(fact, fps=())
        if isinstance(fact, PermitsReported) and "all_told" in broken:
            return msgspec.structs.replace(fact, version=1 << 30)
        return fact

    def _forget_ledger_offset(self) -> None:
        value = self.store.get("ledger", ledger_key(RUN))
        if value is not None:
            ledger = msgspec.structs.replace(unpack(Ledger, value), offset=-1)
            self.store.tables["ledger"].local[ledger_key(RUN)] = pack(ledger)


def _partition_of(fact: Any) -> int:
    """By the host's number: the model has no hashes."""
    return int(fact.key[1])


def _without_history(write: Write) -> Write:
    if write.table != "seen" or write.value is None:
        return write
    seen = unpack(Seen, write.value)
    seen.steps = [seen.steps[0], *seen.steps[-1:]] if len(seen.steps) > 1 else seen.steps
    return write._replace(value=pack(seen))


def _short(batch: Batch) -> str:
    return ", ".join(
        f"{type(fact).__name__}({getattr(fact, 'fp', '')}{getattr(fact, 'attempt', '')})" for fact in batch.facts
    )
