"""The console's modules that touch neither page nor network, run by node; YAML is read back by PyYAML."""

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


def test_the_pure_modules_of_the_console_keep_their_laws(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    written = tmp_path / "yaml.json"
    environ = {**os.environ, "CONSOLE_MODULES": str(MODULES), "CONSOLE_YAML": str(written)}
    command = [node, "--test", "--test-reporter=tap", str(TESTS)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    meant, text = json.loads(written.read_text())
    assert yaml.safe_load(text) == meant
