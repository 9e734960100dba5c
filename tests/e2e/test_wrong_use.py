"""What a person does wrong ends in one sentence and an exit code, with nothing left running."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)


def odradek(*arguments: str, folder: Path) -> tuple[int, str]:
    found = subprocess.run(
        [sys.executable, "-m", "odradek", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert found.stdout == ""
    return found.returncode, found.stderr.strip()


def test_a_malformed_url_is_named(tmp_path: Path) -> None:
    code, said = odradek("crawl", "htp:/x", folder=tmp_path)

    assert code == 2
    assert "'htp:/x'" in said
    assert said.count("\n") == 0


def test_nothing_to_crawl_says_what_to_give(tmp_path: Path) -> None:
    assert odradek("crawl", folder=tmp_path) == (
        2, "odradek: Nothing to crawl: give at least one URL, or a job file with seeds.",
    )  # fmt: skip


def test_an_unknown_field_is_named_with_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("seeds: [https://books.example/]\nscope: {max_page: 3}\n")

    code, said = odradek("crawl", "--job", "job.yaml", folder=tmp_path)

    assert code == 2
    assert "scope.max_page" in said
    assert "max_pages" in said


def test_a_seed_in_a_private_network_needs_the_switch(tmp_path: Path) -> None:
    code, said = odradek("crawl", "http://127.0.0.1:9/", folder=tmp_path)

    assert code == 2
    assert "--allow-private-networks" in said
    assert not (tmp_path / ".odradek").exists()


def test_a_state_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    code, said = odradek("crawl", "https://books.example/", "--state", "state", folder=tmp_path)

    assert code == 1
    assert "state" in said
    assert "--state" in said


def test_a_state_of_another_specification_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "crawl.json").write_text('{"digest": "of another", "job_id": "j"}')

    code, said = odradek("crawl", "https://books.example/", "--state", "state", folder=tmp_path)

    assert code == 2
    assert "another specification" in said


def test_an_output_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path) -> None:
    code, said = odradek("crawl", "https://books.example/", "-o", "items.txt", folder=tmp_path)

    assert code == 2
    assert ".jsonl" in said
    assert not (tmp_path / ".odradek").exists()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, said = odradek("up", "--port", str(port), "--state", "state", folder=tmp_path)

    assert (code, said) == (1, f"odradek: Port {port} is in use; choose another with --port.")


def test_a_wrong_setting_is_refused_by_name(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "odradek", "topics"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "ODRADEK_PARTITIONS": "many"},
    )  # fmt: skip

    assert found.returncode == 2
    assert "ODRADEK_PARTITIONS" in found.stderr
