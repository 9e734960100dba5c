"""Children are ready before they are relied on, come back when they die, and never outlive their supervisor."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.errors import UserError
from odradek.runtime.supervisor import Child, Happened, Supervisor

LIVES = "import time; print('alive', flush=True); time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('alive', flush=True); time.sleep(600)"
)


def a_child(code: str, logs: Path, *, name: str = "child", stop_deadline_s: float = 5.0) -> Child:
    log = logs / f"{name}.log"
    return Child(
        name,
        (sys.executable, "-c", code),
        ready=lambda: log.exists() and b"alive" in log.read_bytes(),
        ready_deadline_s=10,
        stop_deadline_s=stop_deadline_s,
    )


async def until(true: Callable[[], bool], deadline_s: float = 15.0) -> None:
    end = time.monotonic() + deadline_s
    while not true():
        assert time.monotonic() < end, "waited too long"
        await asyncio.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


async def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    told: list[Happened] = []
    supervisor = Supervisor(tmp_path, told.append)
    await supervisor.start(a_child(LIVES, tmp_path))
    first = supervisor.pid("child")
    assert first is not None

    os.kill(first, signal.SIGKILL)
    await until(lambda: [each.event for each in told].count("ready") == 2)
    second = supervisor.pid("child")
    await supervisor.stop()

    assert second not in (None, first)
    assert [each.event for each in told] == ["started", "ready", "died", "restarted", "ready", "stopped"]


async def test_a_child_that_ignores_the_signal_is_killed_after_its_deadline(tmp_path: Path) -> None:
    told: list[Happened] = []
    supervisor = Supervisor(tmp_path, told.append)
    await supervisor.start(a_child(STUBBORN, tmp_path, stop_deadline_s=0.3))
    pid = supervisor.pid("child")
    assert pid is not None

    await supervisor.stop()

    assert gone(pid)
    assert told[-1].event == "killed"


async def test_a_child_that_ends_before_it_is_ready_is_an_error_that_quotes_its_log(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)

    with pytest.raises(UserError) as caught:
        await supervisor.start(a_child("print('no room'); raise SystemExit(3)", tmp_path))
    await supervisor.stop()

    assert str(caught.value) == "child ended with 3: no room"


async def test_a_child_that_is_never_ready_is_ended_and_its_log_quoted(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    child = Child("child", (sys.executable, "-c", LIVES), lambda: False, ready_deadline_s=1.5)

    with pytest.raises(UserError, match=r"child was not ready after 1\.5 s: alive"):
        await supervisor.start(child)

    assert supervisor.pid("child") is None
    await supervisor.stop()


async def test_a_child_started_again_may_take_as_long_as_it_takes(tmp_path: Path) -> None:
    told: list[Happened] = []
    supervisor = Supervisor(tmp_path, told.append)
    ready_from = 0.0
    child = Child(
        "child", (sys.executable, "-c", LIVES), lambda: time.monotonic() >= ready_from, ready_deadline_s=1.0
    )  # fmt: skip
    await supervisor.start(child)
    first = supervisor.pid("child")
    assert first is not None
    ready_from = time.monotonic() + 2.5
    os.kill(first, signal.SIGKILL)
    await until(lambda: told[-1].event == "ready" and len(told) > 2)
    await supervisor.stop()

    assert [each.event for each in told] == ["started", "ready", "died", "restarted", "ready", "stopped"]


async def test_a_program_that_cannot_be_run_is_an_error_that_says_why(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)

    with pytest.raises(UserError, match="No such file or directory"):
        await supervisor.start(Child("child", ("./no-such-program",), lambda: False))
    await supervisor.stop()


async def test_an_answer_of_somebody_else_does_not_make_a_dead_child_ready(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)

    def answers_once_the_child_is_gone() -> bool:
        return supervisor.pid("child") is None

    with pytest.raises(UserError, match="child ended with 3: port taken"):
        await supervisor.start(
            Child("child", (sys.executable, "-c", "print('port taken'); exit(3)"), answers_once_the_child_is_gone)
        )
    await supervisor.stop()


BEARING = (
    "import subprocess, sys, time; "
    "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print('alive', grandchild.pid, flush=True); time.sleep(600)"
)


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
async def test_what_a_child_has_started_ends_with_it(tmp_path: Path, ended_by: signal.Signals) -> None:
    supervisor = Supervisor(tmp_path)
    await supervisor.start(a_child(BEARING, tmp_path))
    pid = supervisor.pid("child")
    assert pid is not None
    grandchild = int((tmp_path / "child.log").read_text().split()[1])

    if ended_by is signal.SIGKILL:
        os.kill(pid, ended_by)
    else:
        await supervisor.stop()
    await until(lambda: gone(grandchild))
    await supervisor.stop()


async def test_what_was_started_last_is_stopped_first(tmp_path: Path) -> None:
    told: list[Happened] = []
    supervisor = Supervisor(tmp_path, told.append)
    for name in ("engine", "service"):
        await supervisor.start(a_child(LIVES, tmp_path, name=name))

    await supervisor.stop()

    assert [each.name for each in told if each.event == "stopped"] == ["service", "engine"]
    assert set(supervisor.ready_s) == {"engine", "service"}


PARENT = """
import asyncio, sys
from pathlib import Path
from odradek.runtime.supervisor import Child, Supervisor
async def main():
    logs = Path(sys.argv[1])
    supervisor = Supervisor(logs)
    log = logs / "child.log"
    await supervisor.start(Child("child", (sys.executable, "-c", sys.argv[2]), lambda: log.stat().st_size > 0))
    print(supervisor.pid("child"), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), LIVES, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert not gone(child)

    parent.kill()
    await parent.wait()

    await until(lambda: gone(child))
