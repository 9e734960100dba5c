"""Odradek as a small cluster on this machine: Apache Kafka with twelve partitions, several schedulers and fetchers."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import psutil

from odradek.engines.stack import Stack, StackOptions
from odradek.runtime.supervisor import Child
from odradek.settings import Settings

PARTITIONS = 12


class _Stack(Stack):
    schedulers = 3

    def _services(self) -> list[Child]:
        more = [self._service(f"scheduler-{number}") for number in range(1, self.schedulers)]
        return [*super()._services(), *more]

    async def one_more_fetcher(self) -> None:
        await self.supervisor.start(self._service("fetcher-more"))


class Cluster:
    """Starts everything, and speaks to its gateway. What is killed is started again by the supervisor."""

    def __init__(self, folder: Path, *, schedulers: int = 3, fetchers: int = 3, **settings: str) -> None:
        own = {
            "ODRADEK_PARTITIONS": str(PARTITIONS),
            "ODRADEK_ALLOW_PRIVATE_NETWORKS": "true",
            "ODRADEK_CONTACT_URL": "http://127.0.0.1/",
            "ODRADEK_SESSION_TIMEOUT": "6s",
        }
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ODRADEK_")}
        self._stack = _Stack(StackOptions(folder=folder, environ=environ, fetchers=fetchers, overrides=own | settings))
        self._stack.schedulers = schedulers
        self.client = httpx.AsyncClient()

    async def __aenter__(self) -> Self:
        await self._stack.start()
        self.client = httpx.AsyncClient(base_url=self._stack.api_url, timeout=30)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.client.aclose()
        await self._stack.stop()

    async def submit(self, **spec: Any) -> str:
        """A job; its id."""
        answer = await self.client.post("/v1/jobs", json=spec)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["job_id"])

    async def post(self, path: str) -> dict[str, Any]:
        answer = await self.client.post(path)
        assert answer.is_success, answer.text
        return dict(answer.json())

    async def patch(self, job: str, **changes: Any) -> None:
        answer = await self.client.patch(f"/v1/jobs/{job}", json=changes)
        assert answer.is_success, answer.text

    async def job(self, job: str) -> dict[str, Any]:
        return dict((await self.client.get(f"/v1/jobs/{job}")).json())

    async def audit(self, job: str) -> dict[str, Any]:
        return dict((await self.client.get(f"/v1/jobs/{job}/audit")).json())

    async def at_rest(self, job: str, within_s: float = 30) -> None:
        """Until nothing of it is under way."""

        async def there() -> bool:
            return bool((await self.job(job))["in_flight"] == 0)

        await until(there, within_s, lambda: f"something of {job} is still under way")

    async def settled(self, job: str, within_s: float = 60) -> dict[str, Any]:
        """Its audit, once nothing is pending and all that the partitions have told adds up."""
        audit: dict[str, Any] = {}

        async def there() -> bool:
            audit.update(await self.audit(job))
            return audit["pending"] == 0 and audit["balanced"] is True

        await until(there, within_s, lambda: f"{job} does not settle: {audit}")
        return audit

    async def until_state(self, job: str, state: str, within_s: float) -> dict[str, Any]:
        async def there() -> bool:
            return bool((await self.job(job))["state"] == state)

        await until(there, within_s, lambda: f"{job} is not {state}")
        return await self.job(job)

    async def one_more_fetcher(self) -> None:
        await self._stack.one_more_fetcher()

    @property
    def settings(self) -> Settings:
        """What its services run with."""
        return Settings.read(self._stack.env)

    def first_scheduler(self) -> psutil.Process:
        """The scheduler that was started first."""
        mine = psutil.Process().children(recursive=True)
        found = [each for each in mine if _is_alive(each) and each.cmdline()[-2:] == ["service", "scheduler"]]
        return min(found, key=lambda each: each.create_time())

    def kill_one_scheduler(self) -> int:
        """SIGKILL for the scheduler that was started first."""
        victim = self.first_scheduler()
        victim.kill()
        return victim.pid


def _is_alive(process: psutil.Process) -> bool:
    """False for one that was killed and that the supervisor has not buried yet."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


async def until(condition: Callable[[], Awaitable[bool]], within_s: float, what: Callable[[], str]) -> None:
    """Poll with a deadline."""
    deadline = time.monotonic() + within_s
    while not await condition():
        assert time.monotonic() < deadline, what()
        await asyncio.sleep(0.1)
