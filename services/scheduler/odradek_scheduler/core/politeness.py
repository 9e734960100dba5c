"""How gently a host is treated: what an answer teaches, and when the next request may leave (rule I).

The constants are part of the fold: another value is another state of the same log.
"""

import zlib
from typing import Final

from odradek.contracts import Fetched, HostChanged, RobotsFetched
from odradek_scheduler.core.state import Host

REST_STATUSES: Final = frozenset((429, 503))
"""The site asks for rest."""
TROUBLE: Final = frozenset(("dns", "connect", "tls", "timeout_connect", "timeout_read", "timeout_total", "reset"))
"""Failures that say something about the host and not about one URL."""
TOLERATED_TROUBLE: Final = 2
"""Troubles in a row that do not slow a host down yet."""
BACK_OFF_FIRST_MS: Final = 2_000
BACK_OFF_MOST_MS: Final = 10 * 60_000
RETRY_AFTER_MOST_MS: Final = 15 * 60_000
"""A site's own Retry-After is clamped to this."""
_LATENCY_WEIGHT: Final = 0.2


def jittered(span_ms: int, key: str, turn: int) -> int:
    """The span plus up to a quarter, always the same for the same key and turn, so that hosts do not march in step."""
    return span_ms + span_ms * (zlib.crc32(f"{key}\0{turn}".encode()) % 1000) // 4000


def back_off_ms(key: str, streak: int, retry_after_s: float | None) -> int:
    """How long a host is left alone: doubling with each answer that asks for it, never less than its Retry-After."""
    span = min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS << min(streak - 1, 20))
    asked = min(RETRY_AFTER_MOST_MS, int((retry_after_s or 0.0) * 1000))
    return max(jittered(span, key, streak), asked)


def answer_heard(host: Host, fact: Fetched | RobotsFetched) -> None:
    """An answer, or the failure to get one, changes what is known of the host.

    Answers that come during a back-off are to requests sent before it: they neither lengthen nor end it, unless with
    a Retry-After of their own.
    """
    host.fetches += 1
    host.last_at_ms = max(host.last_at_ms, fact.at_ms)
    trouble = fact.reason in TROUBLE if fact.status is None else fact.status >= 500  # noqa: PLR2004  (HTTP's classes)
    rest = fact.status in REST_STATUSES
    if fact.status is not None:
        host.latency_ms = (
            fact.duration_ms
            if host.latency_ms is None
            else round(host.latency_ms + _LATENCY_WEIGHT * (fact.duration_ms - host.latency_ms), 1)
        )
    host.failures += trouble or rest
    if fact.at_ms < host.back_off_until_ms and not fact.retry_after_s:
        return
    if not (trouble or rest):
        host.streak = 0
        return
    host.streak += fact.at_ms >= host.back_off_until_ms
    turn = host.streak if rest else host.streak - TOLERATED_TROUBLE
    if turn > 0 or fact.retry_after_s:
        until = fact.at_ms + back_off_ms(fact.key, max(turn, 1), fact.retry_after_s)
        host.back_off_until_ms = max(host.back_off_until_ms, until)


def override(host: Host, fact: HostChanged) -> None:
    """A person's word on a host."""
    host.delay_ms, host.concurrency, host.blocked = fact.delay_ms, fact.concurrency, fact.blocked
    if fact.clear_back_off:
        host.back_off_until_ms = host.streak = 0


class Pace:
    """The chains of requests to one host: with concurrency n there are n, each at rest for the delay after an answer.

    The delay runs from the receipt of the answer, so the site never sees less.
    """

    __slots__ = ("in_flight", "rests")

    def __init__(self) -> None:
        self.in_flight = 0
        self.rests: list[int] = []
        """When each idle chain got its last answer, oldest first; a chain never used is not in the list."""

    def free_at_ms(self, concurrency: int, delay_ms: int) -> int | None:
        """When the next request may leave; 0: at once; None: not before an answer comes."""
        if self.in_flight >= concurrency:
            return None
        oldest = self.in_flight + len(self.rests) - concurrency
        return 0 if oldest < 0 else self.rests[oldest] + delay_ms

    def sent(self, concurrency: int) -> None:
        """A request has left on the chain that has rested longest."""
        oldest = self.in_flight + len(self.rests) - concurrency
        if oldest >= 0:
            del self.rests[: oldest + 1]
        self.in_flight += 1

    def answered(self, count: int, now_ms: int) -> None:
        """So many chains are at rest from now."""
        self.rests.extend([now_ms] * count)
