"""What the sites see: when each request came and ended. Their laws do not depend on what the scheduler believes."""

from typing import TYPE_CHECKING

from odradek.contracts import FetchRequest

if TYPE_CHECKING:
    from .world import Scenario


class Violation(Exception):  # noqa: N818  (what the search is for, not an error)
    """A law was broken."""


class Site:
    """All hosts: no more at once than allowed, and no request sooner after an earlier one than the delay."""

    def __init__(self, scenario: "Scenario") -> None:
        self._concurrency, self._delay_ms = scenario.concurrency, scenario.delay_s * 1000
        self._open: dict[str, int] = {}
        self._ended_ms: dict[str, list[int]] = {}

    def asked(self, request: FetchRequest, now_ms: int) -> None:
        key = request.key
        busy = self._open.get(key, 0)
        resting = [ended for ended in self._ended_ms.get(key, ()) if ended + self._delay_ms > now_ms]
        if busy + len(resting) >= self._concurrency:
            raise Violation(
                f"site: {request.fp} comes to {key} with {busy} open and {[now_ms - each for each in resting]} ms after"
            )
        self._open[key] = busy + 1

    def ended(self, request: FetchRequest, now_ms: int) -> None:
        self._open[request.key] -= 1
        self._ended_ms.setdefault(request.key, []).append(now_ms)
