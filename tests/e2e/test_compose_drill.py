"""A drill on three brokers, in containers: faults in a seeded random order while a site is crawled.

Every topic is on three brokers, each service but the gateway runs twice. Services, pairs of them and brokers are killed
with -9 or paused for longer than a session, replicas join and leave, stores are away for half a minute. After each
round the job has to end with every page, item and event once, and with a ledger that balances.
ODRADEK_COMPOSE_FAULTS (20) says how many, ODRADEK_COMPOSE_SEED (1) in which order:

    ODRADEK_COMPOSE=1 ODRADEK_COMPOSE_PAGES=3000 make e2e ARGS="-s tests/e2e/test_compose_drill.py"
"""

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.drill.plan import SERVICES, Planned, drawn, plan, rounds
from tests.e2e.composing import CARDS, PAGES, WANTED, Stack, a_stack

FAULTS = int(os.environ.get("ODRADEK_COMPOSE_FAULTS", "20"))
SEED = int(os.environ.get("ODRADEK_COMPOSE_SEED", "1"))
IN_ROUND = 5
KINDS = ("kill", "freeze", "storm", "broker", "away")
"""Of the catalogue of drills; the others reach into topics and folders, which a drill without containers does."""
BROKERS = ("kafka", "kafka-2", "kafka-3")
SCALE = [word for kind in SERVICES for word in ("--scale", f"{kind}=2")]
SESSION_S, AWAY_S, RECOVERY_S = 10.0, 30.0, 180.0
SLOW, QUICK = {"delay": "900ms", "concurrency_per_host": 1}, {"delay": "0s", "concurrency_per_host": 32}
MOVED = 20
"""Pages that have to come after a fault, so that it counts as recovered."""

_RESTARTS = '{{.RestartCount}} {{index .Config.Labels "com.docker.compose.service"}}'

pytestmark = [*WANTED, pytest.mark.skipif(PAGES < 3000, reason="set ODRADEK_COMPOSE_PAGES=3000: faults take minutes")]


def docker(*arguments: str) -> str:
    """What one command of it printed."""
    done = subprocess.run(("docker", *arguments), text=True, capture_output=True, check=False)
    if done.returncode:
        pytest.fail(f"docker {' '.join(arguments)}: {done.stderr}")
    return done.stdout


class Containers:
    """The containers of a stack, each of which can be hit by its id."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.ended: Counter[str] = Counter()
        """How often containers of a service ended by themselves and were started again by Docker."""

    def of(self, service: str) -> list[str]:
        """Ids of its replicas, of the stopped ones too."""
        return self._stack.compose("ps", "-a", "-q", service).split()

    def kill(self, ids: list[str], away_s: float = 0.0) -> None:
        """SIGKILL for all at once; started again after that time."""
        self.count_ends(ids)
        docker("kill", *ids)
        time.sleep(away_s)
        docker("start", *ids)

    def freeze(self, ids: list[str]) -> None:
        """Not a step for longer than a session."""
        docker("pause", *ids)
        time.sleep(SESSION_S + 2)
        docker("unpause", *ids)

    def storm(self, service: str) -> None:
        """A third replica joins and leaves, twice."""
        for count in ("3", "2", "3", "2"):
            self._stack.compose("up", "-d", "--no-deps", "--no-recreate", "--scale", f"{service}={count}", service)
            time.sleep(3)

    def until_well(self) -> float:
        """Wait until Docker finds all of them healthy; how long that took."""
        began = time.monotonic()
        while unwell := self._unwell():
            if time.monotonic() > began + RECOVERY_S:
                pytest.fail(f"{unwell}: {self._stack.compose('logs', '--no-color', '--tail', '40', *unwell)}")
            time.sleep(1)
        return time.monotonic() - began

    def _unwell(self) -> list[str]:
        told = self._stack.compose("ps", "-a", "--format", "{{.Service}},{{.State}},{{.ExitCode}},{{.Health}}")
        found = [line.split(",") for line in told.splitlines()]
        ill = ("starting", "unhealthy")
        return sorted(
            {name for name, state, code, health in found if health in ill or (state, code) == ("exited", "137")}
        )

    def count_ends(self, ids: list[str]) -> None:
        """Take note of them before they are started by hand, with which Docker begins to count anew."""
        for each in ids:
            count, service = docker("inspect", "-f", _RESTARTS, each).split()
            self.ended[service] += int(count)

    def all_ends(self) -> dict[str, int]:
        """How often which service ended by itself; to be asked once."""
        for service in (*SERVICES, "api", *BROKERS, "mongodb", "elasticsearch"):
            self.count_ends(self.of(service))
        return dict(+self.ended)


def inject(containers: Containers, fault: Planned) -> None:
    """Do it; returns once it is healed."""
    rng = random.Random(fault.seed)
    ids = drawn(rng.choice(BROKERS) if fault.kind == "broker" else fault.target, containers.of, rng)
    match fault.kind, fault.target:
        case "broker", "restart":
            containers.count_ends(ids)
            docker("restart", *ids)
        case ("freeze", _) | ("broker", "freeze"):
            containers.freeze(ids)
        case "storm", service:
            containers.storm(service)
        case "away", _:
            containers.kill(ids, AWAY_S)
        case _:
            containers.kill(ids, 1.0)


def recovery_s(stack: Stack, job: str) -> float:
    """Wait until the crawl has gone on, and both stores hold what it had come to; how long that took."""
    began = time.monotonic()
    healed = stack.wait(job, lambda _: True)["pages"]
    stack.wait(job, lambda status: status["pages"] >= min(healed + MOVED, PAGES))
    stack.until(job, f"/v1/jobs/{job}/items/count", lambda answer: answer["total"] >= healed * CARDS)
    stack.until(job, f"/v1/logs?job={job}&action=parse&limit=1", lambda answer: answer["total"] >= healed)
    return time.monotonic() - began


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    quick = {"ODRADEK_SESSION_TIMEOUT": f"{SESSION_S:.0f}s", "ODRADEK_RETRY_DELAYS": "500ms,1s,2s"}
    with a_stack(tmp_path_factory.mktemp("drill"), "compose/production.yaml", variables=quick) as found:
        found.up(*SCALE)
        yield found


@pytest.mark.parametrize("faults", rounds(plan(SEED, FAULTS, only=KINDS), IN_ROUND))
def test_after_a_round_of_faults_every_page_and_item_is_there_once(stack: Stack, faults: list[Planned]) -> None:
    containers = Containers(stack)
    job = stack.submit(politeness=SLOW)
    stack.crawled(job, 0.02)
    for fault in faults:
        assert stack.wait(job, lambda _: True)["state"] == "running", "the site is too small for so many faults"
        inject(containers, fault)
        took_s = recovery_s(stack, job)
        assert took_s < RECOVERY_S
        print(f"{fault.number} {fault.name}: goes on {took_s:.1f} s after it was healed", flush=True)  # noqa: T201
    well_s = containers.until_well()
    stack.change(job, politeness=QUICK)
    stack.finished(job)
    ended = containers.all_ends()
    print(f"all healthy {well_s:.0f} s later; every page and item once; ended by themselves: {ended}", flush=True)  # noqa: T201
    assert ended == {}, "none may end by itself"
