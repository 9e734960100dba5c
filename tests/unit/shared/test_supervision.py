"""A process that dies is started again soon, and ever later while it keeps dying; its log stays bounded."""

from pathlib import Path

from odradek.runtime.childlog import ChildLog
from odradek.runtime.restarts import Restarts


def test_waits_double_up_to_a_limit() -> None:
    policy = Restarts()

    assert [policy.next_wait_s(1.0) for _ in range(8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_minute_of_life_forgives() -> None:
    policy = Restarts()
    for _ in range(5):
        policy.next_wait_s(0.0)

    assert policy.next_wait_s(60.0) == 0.2


def write(log: ChildLog, text: str) -> None:
    with log.begin() as output:
        output.write(text.encode())


def test_a_log_is_set_aside_at_the_start_after_it_grew_too_large(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "kafka", largest_bytes=10)
    write(log, "the first life")
    write(log, "second")
    write(log, ", third")

    assert (tmp_path / "kafka.log").read_text() == "second, third"
    assert (tmp_path / "kafka.log.1").read_text() == "the first life"


def test_only_one_log_is_kept_aside(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "kafka", largest_bytes=1)
    for life in ("one", "two", "three"):
        write(log, life)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["kafka.log", "kafka.log.1"]
    assert (tmp_path / "kafka.log.1").read_text() == "two"


def test_the_tail_quotes_this_life_and_no_earlier_one(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "kafka")
    write(log, "old trouble\n")
    write(log, "starting\n\nno room\n")

    assert log.tail() == "starting | no room"


def test_the_tail_of_a_silent_life_names_the_file(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "kafka")
    write(log, "")

    assert log.tail() == f"it printed nothing to {tmp_path / 'kafka.log'}"
