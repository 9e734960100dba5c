"""Faults of the engines: brokers killed, restarted and silent, stores away."""

import asyncio
import random
import signal

from tests.drill.stack import SESSION_S
from tests.drill.world import RECOVERY_S, World, until

AWAY_S = 30.0
FENCED_S = 12.0
"""A broker that is silent for nine seconds loses the partitions that it leads, where there are others."""


async def broker(world: World, target: str, rng: random.Random) -> None:
    """One is killed with -9, and healed when it answers again; stopped in order and started; or deaf for a session."""
    name = rng.choice(world.stack.members("kafka"))
    if target == "kill":
        world.kill(name)
        await asyncio.sleep(1)  # else its death has not been noticed yet
        child = world.stack.children[name]
        await until(lambda: asyncio.to_thread(lambda: child.ready() or None), RECOVERY_S, f"{name} does not come back")
    elif target == "restart":
        await world.stack.take_down(name)
        await world.stack.bring_up(name)
    else:
        world.stop(name)
        await asyncio.sleep(FENCED_S if len(world.stack.members("kafka")) > 1 else SESSION_S + 2)
        world.stack.signal(name, signal.SIGCONT)


async def away(world: World, target: str, rng: random.Random) -> None:
    """Stores that are not there for a while. MongoDB may be killed with -9.

    The embedded search engine is stopped in order: a -9 may cost it the events of its last seconds.
    """
    names = target.split("+")
    if "mongodb" in names and rng.random() < 0.5:
        world.stack.signal("mongodb", signal.SIGKILL)
    await world.stack.take_down(*names)
    await asyncio.sleep(AWAY_S)
    await world.stack.bring_up(*names)
