"""The console's modules that touch neither page nor network, run by node; what they show of a job is read back
by PyYAML and by a shell."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import odradek_api.console

MODULES = Path(odradek_api.console.__file__).parent / "js"
TESTS = Path(__file__).parent / "console" / "modules.test.mjs"


READ_ARGUMENTS = """curl() { for argument; do printf '%s\\0' "$argument"; done; }
"""


def test_the_pure_modules_of_the_console_keep_their_laws(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    written = tmp_path / "shown.json"
    environ = {**os.environ, "CONSOLE_MODULES": str(MODULES), "CONSOLE_SHOWN": str(written)}
    command = [node, "--test", "--test-reporter=tap", str(TESTS)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    shown = json.loads(written.read_text())
    assert yaml.safe_load(shown["yaml"]) == shown["meant"]
    assert yaml.safe_load(shown["nothing"]) == {}
    arguments = arguments_of(shown["curl"], tmp_path)
    assert arguments[:-1] == [
        "-X", "POST", "http://127.0.0.1:8000/v1/jobs",
        "-H", "x-api-key: the key", "-H", "content-type: application/json", "--data-binary",
    ]  # fmt: skip
    assert json.loads(arguments[-1]) == shown["meant"]
    assert list(tmp_path.iterdir()) == [written]


def arguments_of(command: str, folder: Path) -> list[str]:
    """What curl would be given by a shell that is told this command."""
    told = subprocess.run(
        ["/bin/sh", "-c", READ_ARGUMENTS + command], capture_output=True, text=True, timeout=10, cwd=folder, check=True,
        env={"ODRADEK_API_KEY": "the key"},
    )  # fmt: skip
    return told.stdout.split("\0")[:-1]
