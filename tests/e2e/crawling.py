"""Runs the installed command as a person would, against a site in this process."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.bench.products import PRODUCTS

from odradek.testing.site import Catalogue

CARDS_RULE = PRODUCTS | {
    "fields": {name: PRODUCTS["fields"][name] | {"required": True} for name in ("sku", "title", "price")}
}


@dataclass(frozen=True)
class Outcome:
    """What the command left: exit code, its JSON, what it said, and the lines it wrote."""

    code: int
    said: str
    result: dict[str, Any]
    lines: list[dict[str, Any]]


def catalogue_job(catalogue: Catalogue, **changes: Any) -> dict[str, Any]:
    """A job that crawls the whole catalogue as fast as it goes."""
    job: dict[str, Any] = {
        "name": "catalogue",
        "seeds": [catalogue.url(0)],
        "scope": {"allowed_domains": catalogue.addresses()},
        "politeness": {"delay": "0s", "concurrency_per_host": 16},
        "extract": [CARDS_RULE],
    }
    return job | changes


class Command:
    """`odradek crawl` in a folder of its own; `run` waits for the end, `start` leaves it running."""

    def __init__(self, folder: Path, job: dict[str, Any], *options: str) -> None:
        self.folder = folder
        (folder / "job.yaml").write_text(yaml.safe_dump(job))
        self.items = folder / "items.jsonl"
        self.state = folder / "state"
        fixed = ("--job", "job.yaml", "--state", str(self.state), "-o", str(self.items), "--json")
        self.arguments = (sys.executable, "-m", "odradek", "crawl", *fixed, "--allow-private-networks", *options)

    async def start(self) -> asyncio.subprocess.Process:
        """The process, in a group of its own."""
        return await asyncio.create_subprocess_exec(
            *self.arguments,
            cwd=self.folder,
            env={**os.environ, "ODRADEK_CONTACT_URL": "http://127.0.0.1/"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def end(self, process: asyncio.subprocess.Process, deadline_s: float) -> Outcome:
        """Wait for it."""
        try:
            out, err = await asyncio.wait_for(process.communicate(), deadline_s)
        except TimeoutError:
            process.kill()
            raise
        said = err.decode(errors="replace")
        assert process.returncode is not None
        lines = [json.loads(line) for line in self.items.read_text().splitlines()] if self.items.exists() else []
        return Outcome(process.returncode, said, json.loads(out) if out.strip() else {}, lines)

    async def run(self, deadline_s: float = 240) -> Outcome:
        """From start to end."""
        return await self.end(await self.start(), deadline_s)
