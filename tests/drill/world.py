"""What a fault is done to: the stack, the site, and the note of what it must lead to."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import httpx
from pymongo.errors import PyMongoError
from tests.drill.sites import GrowingSite
from tests.drill.stack import DrillStack, SmallDisk

from odradek.errors import InfrastructureAway
from odradek.kafka.ends import Ends
from odradek.settings import Settings
from odradek.topics import GROUPS

T = TypeVar("T")
Place = tuple[str, int]
"""Topic and partition."""

RECOVERY_S = 150.0
"""Everything must move again within this, on a machine as busy as it may be."""
LOOK_S = 0.25


class NotInjected(Exception):  # noqa: N818  (no error of what is drilled)
    """A fault that did not bite proves nothing."""


@dataclass(slots=True)
class Foreseen:
    """What faults of a round lead to, besides the totals of the crawl."""

    dead_letters: Counter[str] = field(default_factory=Counter)
    """By topic of the message."""
    gaps: Counter[str] = field(default_factory=Counter)
    """By topic of which offsets were cut off; at least one event each."""
    bad_jobs: dict[str, str] = field(default_factory=dict)
    """Jobs of one page each, by what the page does to a parser."""


@dataclass(slots=True)
class World:
    """One round's surroundings."""

    stack: DrillStack
    site: GrowingSite
    client: httpx.AsyncClient
    ends: Ends
    job: str = ""
    disk: SmallDisk | None = None
    foreseen: Foreseen = field(default_factory=Foreseen)
    remarks: list[str] = field(default_factory=list)
    """What a fault has to say about itself."""
    killed: Counter[str] = field(default_factory=Counter)
    """Children that a fault has ended and whose death has not been noticed yet, by name."""
    begun_at: str = ""
    """When the round began, as events write it."""

    @property
    def settings(self) -> Settings:
        return self.stack.settings

    def kill(self, name: str) -> None:
        """SIGKILL.

        Raises:
            NotInjected: it does not run.
        """
        self._signal(name, signal.SIGKILL)
        self.killed[name] += 1

    def stop(self, name: str) -> None:
        """SIGSTOP; raises as `kill` does."""
        self._signal(name, signal.SIGSTOP)

    def _signal(self, name: str, what: signal.Signals) -> None:
        if not self.stack.signal(name, what):
            raise NotInjected(f"{name} does not run")

    async def submit(self, **spec: object) -> str:
        """A job; its id. Asked again while the gateway or Kafka is away."""
        key = {"idempotency-key": f"{time.monotonic_ns()}"}

        async def ask() -> str | None:
            answer = await self.client.post("/v1/jobs", json=spec, headers=key)
            if answer.status_code >= 500:
                return None
            assert answer.status_code in (200, 201), answer.text
            return str(answer.json()["job_id"])

        return await until(ask, RECOVERY_S, "the gateway takes no job")

    async def asked(self, question: Callable[[], T]) -> T:
        """An answer of the brokers or a store, waited for."""

        async def ask() -> T | None:
            return await asyncio.to_thread(question)

        return await until(ask, RECOVERY_S, "no answer")

    def unfinished(self) -> dict[Place, tuple[int, int]]:
        """Of every partition with work: what is committed, and the end."""
        found: dict[Place, tuple[int, int]] = {}
        for topic, group in GROUPS.items():
            committed = self.ends.committed(group, topic)
            for partition, end in self.ends.end_offsets(topic).items():
                if committed[partition] < end:
                    found[topic, partition] = committed[partition], end
        return found

    def committed(self) -> dict[Place, int]:
        """What every group has committed."""
        return {
            (topic, partition): offset
            for topic, group in GROUPS.items()
            for partition, offset in self.ends.committed(group, topic).items()
        }


async def until(ask: Callable[[], Awaitable[T | None]], within_s: float, otherwise: str) -> T:
    """Ask until there is an answer; that something is away is none.

    Raises:
        TimeoutError: `otherwise`.
    """
    deadline, away = time.monotonic() + within_s, ""
    while True:
        try:
            answer = await ask()
        except (InfrastructureAway, httpx.TransportError, PyMongoError) as error:
            answer, away = None, f" ({error})"
        if answer is not None:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise + away)
        await asyncio.sleep(LOOK_S)


async def recovered(world: World, healed_at: float) -> str:
    """Wait until everything moves again; in words what does not, empty when all does.

    Everything: each partition in which work lay when it was healed has been worked on, each host with waiting pages
    has been asked for one, every child is ready, and the gateway answers for the job.
    """
    deadline = healed_at + RECOVERY_S
    before: dict[Place, tuple[int, int]] | None = None
    still: list[str] = []
    while time.monotonic() < deadline:
        try:
            if before is None:
                before = await asyncio.to_thread(world.unfinished)
            still = await _not_moving(world, before, healed_at)
        except (InfrastructureAway, httpx.TransportError) as error:
            still = [str(error)]
        if not still:
            return ""
        await asyncio.sleep(LOOK_S)
    return ", ".join(still)


async def _not_moving(world: World, before: dict[Place, tuple[int, int]], healed_at: float) -> list[str]:
    now = await asyncio.to_thread(world.committed)
    still = [
        f"{topic}-{partition} stands at {now[topic, partition]}"
        for (topic, partition), (offset, _) in before.items()
        if now[topic, partition] <= offset
    ]
    instants = world.site.seen.instants
    still += [
        f"nobody asks {host}"
        for host in sorted(world.site.waiting())
        if not instants.get(host) or instants[host][-1] <= healed_at
    ]
    children = list(world.stack.children.items())
    ready = await asyncio.gather(*(asyncio.to_thread(child.ready) for _, child in children))
    still += [f"{name} is not ready" for (name, _), well in zip(children, ready, strict=True) if not well]
    answer = await world.client.get(f"/v1/jobs/{world.job}")
    return still if answer.is_success else [*still, f"the gateway answers {answer.status_code}"]
