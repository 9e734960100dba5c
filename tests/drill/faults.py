"""Every kind of fault by name: a coroutine that injects it, holds it and heals it."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from tests.drill.clock import crawl_through_jumps
from tests.drill.engines import away, broker
from tests.drill.plan import Planned
from tests.drill.plugins import NAME
from tests.drill.processes import compact, crowd, disk_full, freeze, kill, storm, wipe
from tests.drill.topics import again, old_version, poison, retention
from tests.drill.world import RECOVERY_S, World, until

Inject = Callable[[World, str, random.Random], Awaitable[None]]


async def bad_page(world: World, target: str, rng: random.Random) -> None:
    """A page that crashes, hangs or exhausts its parser comes in; healed once it has been given up.

    Each parser that gets it may end of it twice: what ended a process is remembered where it runs.
    """
    job = await world.submit(
        name=f"bad-page-{target}",
        seeds=[world.site.bad_url(f"{target}-{rng.randrange(2**32):x}")],
        plugins=[NAME],
        politeness={"delay": "0s", "respect_robots": False},
        scope={"follow_links": False, "sitemaps": False},
    )
    world.foreseen.bad_jobs[job] = target

    async def ended() -> str | None:
        state = (await world.client.get(f"/v1/jobs/{job}")).json().get("state")
        return str(state) if state in ("complete", "failed") else None

    within_s = RECOVERY_S * len(world.stack.members("parser"))
    state = await until(ended, within_s, f"the page that does {target} is not given up")
    world.remarks.append(f"its job is {state}")


async def clock_jumps(world: World, _: str, rng: random.Random) -> None:
    """The clock jumps while hosts fail and ask for rest: simulated on the core, since a test moves no real clock."""
    figures = await asyncio.to_thread(crawl_through_jumps, rng.randrange(2**32))
    world.remarks.append(", ".join(f"{name} {value}" for name, value in figures.items()))


FAULTS: dict[str, Inject] = {
    "kill": kill,
    "freeze": freeze,
    "storm": storm,
    "crowd": crowd,
    "wipe": wipe,
    "compact": compact,
    "disk_full": disk_full,
    "broker": broker,
    "away": away,
    "retention": retention,
    "again": again,
    "poison": poison,
    "old_version": old_version,
    "bad_page": bad_page,
    "clock": clock_jumps,
}
MAY_END: dict[str, tuple[str, ...]] = {"disk_full: state": ("scheduler", "parser"), "broker: kill": ("scheduler",)}
"""Services that end in a fault although nobody ends them, as they should: on a disk on which nothing can be written,
and when Kafka has not taken a message for two minutes, since a scheduler then begins again from its last commit.
"""
MAY_END_LATER: dict[str, tuple[str, ...]] = dict.fromkeys(("bad_page: crash", "bad_page: hang"), ("parser",))
"""In a fault and in those after it: of a page that nobody survives and that is delivered again."""


async def inject(world: World, fault: Planned) -> None:
    """Do it; returns once it is healed."""
    await FAULTS[fault.kind](world, fault.target, random.Random(fault.seed))
