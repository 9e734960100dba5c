"""What the browser tests need and the project does not: Chromium from Debian, axe-core from npm for the moment."""

import os
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

CHROMIUM, CHROMEDRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
AXE = "axe-core@4.10.2"
LONGEST_S = 300


def need_chromium() -> None:
    """Install Chromium and its driver where that is possible; elsewhere the test is skipped, but never in CI."""
    if Path(CHROMIUM).exists() and Path(CHROMEDRIVER).exists():
        return
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            "apt-get update -qq",
            "apt-get install -y -qq --no-install-recommends chromium chromium-driver",
        ):
            subprocess.run(command.split(), check=True, env=environ, timeout=LONGEST_S, stdout=subprocess.DEVNULL)
        return
    say = "needs Debian's packages chromium and chromium-driver: apt-get install chromium chromium-driver"
    if os.environ.get("CI"):
        pytest.fail(say)
    pytest.skip(say)


@cache
def axe_source() -> str:
    """The text of axe-core, which is never part of the project."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm for axe-core")
    with TemporaryDirectory() as folder:
        command = [npm, "pack", AXE, "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, cwd=folder, timeout=LONGEST_S, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("axe-core-*.tgz"))) as packed:
            file = packed.extractfile("package/axe.min.js")
            assert file is not None
            return file.read().decode()
