"""Previews of extraction: made one at a time in a process of their own, with a time limit and without secrets.

The gateway itself neither fetches nor parses: what a hostile page can do to a parser, it does to a process that holds
nothing and is killed when it takes too long.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
import structlog

from odradek_api.core.previews import previewed
from odradek_api.core.problems import Problem

LONGEST_S: Final = 45.0
IDLE_S: Final = 300.0
MOST_WAITING: Final = 4
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
HANDED_ON: Final = (
    "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "ODRADEK_USER_AGENT", "ODRADEK_CONTACT_URL", "ODRADEK_ALLOW_PRIVATE_NETWORKS",
)  # fmt: skip
"""Of the environment; what is not named here the worker does not know."""

log = structlog.get_logger()


class Previews:
    """One worker, started when it is needed and let go when it was idle for five minutes."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        given = os.environ if environ is None else environ
        self._environ = {name: given[name] for name in HANDED_ON if name in given}
        self._worker: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._idle: asyncio.TimerHandle | None = None

    async def look(self, url: str, spec: dict[str, Any], longest_s: float = LONGEST_S) -> dict[str, Any]:
        """{page, inspection, withheld} of a page under a specification as on the wire.

        Raises:
            Problem: 422 for what cannot be previewed, 429 when too many wait, 504 for a page that took too long.
        """
        spec, withheld = previewed(url, spec)
        if self._waiting >= MOST_WAITING:
            raise Problem(
                429, "Too many previews", "Others are being made; try again in some seconds.", retry_after_s=5
            )
        self._waiting += 1
        try:
            async with self._turn:
                found = await self._asked({"url": url, "spec": spec}, longest_s)
        finally:
            self._waiting -= 1
        if "error" in found:
            raise Problem(422, "No preview", str(found["error"]))
        return found | {"withheld": withheld}

    async def close(self) -> None:
        """Let the worker go."""
        if self._idle is not None:
            self._idle.cancel()
        worker, self._worker = self._worker, None
        if worker is not None and worker.returncode is None:
            with suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()

    async def _asked(self, question: dict[str, Any], longest_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(longest_s):
                line = await self._exchanged(msgspec.json.encode(question) + b"\n")
        except TimeoutError:
            await self.close()
            raise Problem(504, "Took too long", f"The page was not read within {longest_s:g} s.") from None
        except (OSError, ValueError, asyncio.CancelledError) as error:
            # Whatever was under way is lost: an answer of its own would be taken for that of the next question.
            await self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise _ended() from error
        if not line.endswith(b"\n"):
            log.warning("preview_worker_ended", url=question["url"])
            await self.close()
            raise _ended()
        self._rest()
        found: dict[str, Any] = msgspec.json.decode(line)
        return found

    async def _exchanged(self, line: bytes) -> bytes:
        if self._worker is None or self._worker.returncode is not None:
            self._worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "odradek_api.preview_worker",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=self._environ,
                limit=MAX_ANSWER_BYTES,
            )  # fmt: skip
        worker = self._worker
        if worker.stdin is None or worker.stdout is None:
            raise OSError("no pipes")
        worker.stdin.write(line)
        await worker.stdin.drain()
        return await worker.stdout.readline()

    def _rest(self) -> None:
        loop = asyncio.get_running_loop()
        if self._idle is not None:
            self._idle.cancel()
        self._idle = loop.call_later(IDLE_S, lambda: loop.create_task(self._let_go()))

    async def _let_go(self) -> None:
        async with self._turn:
            await self.close()


def _ended() -> Problem:
    return Problem(422, "No preview", "The page ended the process that read it: too large or too deep.")
