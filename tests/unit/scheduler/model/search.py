"""Runs a scenario under random choices, and shrinks what it finds."""

from dataclasses import replace

from .choices import Choices
from .oracle import Oracle
from .world import NEVER_S, Scenario, Violation, World

DRAIN_STEPS = 6_000
QUIET_STEPS = 40
"""So many steps with nothing left to do end the drain."""


def run(scenario: Scenario, choose: Choices, story: list[str] | None = None) -> World:
    """One run: faults, then a fair drain without faults, then the end is judged."""
    world = World(scenario, choose, story)
    oracle = Oracle(world)
    for _ in range(scenario.steps):
        world.step()
        oracle.judge()
    world.draining = True
    world.choose = Choices(seed="drain")
    for _ in range(DRAIN_STEPS):
        if at_rest(world):
            break
        world.step()
        oracle.judge()
    oracle.judge_end()
    return world


def at_rest(world: World) -> bool:
    """Nothing is left to do but to wait."""
    return (
        world.complete is not None
        and not (world.gateway or world.controls or world.views)
        and all(world.fetched)
        and all(world.parsed)
        and all(
            each.core.position == len(each.log) == each.committed
            and not each.out
            and each.core.dispatching
            and _asleep(each.core.wake_at_ms(world.now_ms), world.now_ms)
            for each in world.schedulers
        )
    )


def _asleep(wake_ms: int | None, now_ms: int) -> bool:
    return wake_ms is None or wake_ms > now_ms + NEVER_S


def search(scenario: Scenario, runs: int, seed: str) -> tuple[int, str | None, list[int]]:
    """Runs made, the violation found (or None), and the choices that led to it."""
    for number in range(runs):
        choose = Choices(seed=f"{seed}/{number}")
        try:
            run(scenario, choose)
        except Violation as violation:
            return number + 1, str(violation), choose.made
    return runs, None, []


def shrunk(scenario: Scenario, choices: list[int], violation: str, budget: int = 400) -> tuple[str, list[str]]:
    """A shorter run that breaks the same law, as a story."""
    law = violation.split(":", maxsplit=1)[0]
    best, tries = list(choices), 0

    def breaks(candidate: list[int], shorter: Scenario) -> bool:
        try:
            run(shorter, Choices(recorded=candidate))
        except Violation as found:
            return str(found).split(":")[0] == law
        return False

    for steps in range(1, scenario.steps + 1):
        if breaks(best, replace(scenario, steps=steps)):
            scenario = replace(scenario, steps=steps)
            break
    size = max(1, len(best) // 2)
    while size and tries < budget:
        at = 0
        while at < len(best) and tries < budget:
            tries += 1
            candidate = best[:at] + best[at + size :]
            if breaks(candidate, scenario):
                best = candidate
            else:
                at += size
        size //= 2
    story: list[str] = []
    try:
        run(scenario, Choices(recorded=best), story)
    except Violation as found:
        violation = str(found)
    return violation, story
