"""What the guard keeps, in processes that really die."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.parser.pages import a_record

from odradek_parser.guard import ProcessGuard

READS = """
import sys, time
from pathlib import Path
from odradek.kafka.records import Record
from odradek_parser.guard import ProcessGuard
guard = ProcessGuard(Path(sys.argv[1]), limit_s=0.2)
record = Record(topic="odradek.pages", partition=3, offset=int(sys.argv[2]), key=None, value=None)
if guard.condemned(record):
    sys.exit(7)
guard.begin(record)
while sys.argv[3] == "hang":
    pass
if sys.argv[3] == "wait":
    time.sleep(30)
guard.rest()
time.sleep(0.4)
"""


def a_process(path: Path, offset: int, what: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", READS, str(path), str(offset), what], check=False, timeout=60
    ).returncode


def test_a_page_that_ends_the_process_twice_is_not_read_a_third_time(tmp_path: Path) -> None:
    path = tmp_path / "parser.page"

    codes = [a_process(path, 5, "hang") for _ in range(3)]

    assert codes == [-signal.SIGPROF, -signal.SIGPROF, 7]
    assert ProcessGuard(path).condemned(a_record("", offset=6)) is False


def test_a_page_that_only_waits_ends_by_the_clock(tmp_path: Path) -> None:
    assert a_process(tmp_path / "parser.page", 5, "wait") == -signal.SIGALRM


def test_a_page_that_was_read_leaves_nothing_behind_and_is_not_timed_any_more(tmp_path: Path) -> None:
    path = tmp_path / "parser.page"

    assert [a_process(path, 5, "read") for _ in range(3)] == [0, 0, 0]


MANY = """
import os, sys
from pathlib import Path
from odradek.kafka.records import Record
from odradek_parser.guard import ProcessGuard
guard = ProcessGuard(Path(sys.argv[1]))
for offset in range(20):
    record = Record(topic="odradek.pages", partition=3, offset=offset, key=None, value=None)
    if not guard.condemned(record):
        guard.begin(record)
        if offset in (3, 7):
            sys.stderr.write(str(offset))
            os.kill(os.getpid(), 9)
guard.rest()
"""


def test_several_pages_of_one_batch_that_each_end_the_process_are_all_given_up(tmp_path: Path) -> None:
    """Nothing is committed between their deaths, so each process begins before all of them."""
    path = tmp_path / "parser.page"
    runs = [
        subprocess.run([sys.executable, "-c", MANY, str(path)], check=False, timeout=60, capture_output=True, text=True)
        for _ in range(5)
    ]

    assert "".join(run.stderr for run in runs) == "3377"
    assert [run.returncode for run in runs] == [-signal.SIGKILL] * 4 + [0]


def test_a_page_that_was_only_there_when_somebody_killed_the_process_is_cleared_by_being_read(tmp_path: Path) -> None:
    path = tmp_path / "parser.page"
    record = a_record("", offset=5)
    for _ in range(4):
        ProcessGuard(path).begin(record)  # and killed
        guard = ProcessGuard(path)
        assert guard.condemned(record) is False
        guard.begin(record)
        guard.rest()

    assert ProcessGuard(path).condemned(record) is False


@pytest.mark.parametrize("left", [b"", b"\x00" * 512, b"nonsense\n", b"7\n", b"\xff\xfe", b"1 x\n" * 50_000])
def test_whatever_is_in_the_file_is_no_obstacle(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "parser.page"
    path.write_bytes(left)

    assert ProcessGuard(path).condemned(a_record("", offset=5)) is False
