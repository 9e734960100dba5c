"""How gently a host is treated: what an answer teaches, and when the next request may leave (rule I).

The constants are part of the fold: another value is another state of the same log.
"""

import zlib
from typing import Final

from odradek.contracts import GIVEN_BACK, Fetched, HostChanged, RobotsFetched
from odradek_scheduler.core.state import Host

REST_STATUSES: Final = frozenset((429, 503))
"""The site asks for rest."""
TROUBLE: Final = frozenset(("dns", "connect", "tls", "timeout_connect", "timeout_read", "timeout_total", "reset"))
"""Failures that say something about the host and not about one URL."""
BEGUN_ELSEWHERE: Final = frozenset(("inherited", "abandoned"))
"""Of a request given back that may have reached the site all the same."""
TOLERATED_TROUBLE: Final = 2
"""Troubles in a row that do not slow a host down yet."""
BACK_OFF_FIRST_MS: Final = 2_000
BACK_OFF_MOST_MS: Final = 10 * 60_000
RETRY_AFTER_MOST_MS: Final = 15 * 60_000
"""A site's own Retry-After is clamped to this."""
STREAK_MOST: Final = 12
"""Where the streak stops growing: the back-off is at its most by then, and each success takes one off."""
_LATENCY_WEIGHT: Final = 0.2


def jittered(span_ms: int, key: str, turn: int) -> int:
    """The span plus up to a quarter, always the same for the same key and turn, so that hosts do not march in step."""
    return span_ms + span_ms * (zlib.crc32(f"{key}\0{turn}".encode()) % 1000) // 4000


def back_off_ms(key: str, streak: int, retry_after_s: float | None) -> int:
    """How long a host is left alone: doubling with each answer that asks for it, never less than its Retry-After."""
    span = min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS << min(streak - 1, 20))
    return max(jittered(span, key, streak), asked_rest_ms(retry_after_s))


def asked_rest_ms(retry_after_s: float | None) -> int:
    """A site's own Retry-After within reason: never negative, at most `RETRY_AFTER_MOST_MS`."""
    return int(min(max(retry_after_s or 0.0, 0.0), RETRY_AFTER_MOST_MS / 1000) * 1000)


def is_given_back(fact: Fetched | RobotsFetched) -> bool:
    """True of no answer: the request is to be sent again with the same try."""
    return fact.status is None and fact.reason in GIVEN_BACK


def answer_heard(host: Host, fact: Fetched | RobotsFetched) -> None:
    """An answer, or the failure to get one, changes what is known of the host.

    Answers that come during a back-off are to requests sent before it: they neither lengthen nor end it, unless with
    a Retry-After of their own. A request that was not carried out (no status, and no failure of the host) says nothing,
    but that the host rests where it may have been begun.
    """
    if fact.status is None and (fact.reason is None or is_given_back(fact)):
        if fact.reason in BEGUN_ELSEWHERE:
            host.last_at_ms = max(host.last_at_ms, fact.at_ms)
        return
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
    if fact.at_ms < host.back_off_until_ms and asked_rest_ms(fact.retry_after_s) == 0:
        return
    if trouble or rest:
        _slow_down(host, fact, rest=rest)
    else:
        _forgive(host)


def _slow_down(host: Host, fact: Fetched | RobotsFetched, *, rest: bool) -> None:
    host.streak = min(STREAK_MOST, host.streak + (fact.at_ms >= host.back_off_until_ms))
    turn = host.streak if rest else host.streak - TOLERATED_TROUBLE
    if turn > 0 or asked_rest_ms(fact.retry_after_s):
        until = fact.at_ms + back_off_ms(fact.key, max(turn, 1), fact.retry_after_s)
        host.back_off_until_ms = max(host.back_off_until_ms, until)


def _forgive(host: Host) -> None:
    """Each success takes one off the streak, so a host that fails every other time is not asked like a sound one."""
    host.streak = max(0, host.streak - 1)
    if host.streak == 0:
        host.back_off_until_ms = 0


def is_probed(host: Host) -> bool:
    """True for a host that had to be left alone and has not been forgiven: it gets one request at a time."""
    return host.streak > 0 and host.back_off_until_ms > 0


def delay_between_ms(
    asked_ms: int, most_ms: int, crawl_delay_ms: int, latency_factor: float, latency_ms: float | None
) -> int:
    """The delay of one job on a host: what it asks for, or more where robots.txt or a slow host ask for more.

    What these two ask for is clamped to `most_ms`, the job's `max_delay`; its own delay never is.
    """
    slow_ms = int(min(latency_factor * (latency_ms or 0.0), most_ms))
    return max(asked_ms, slow_ms, min(crawl_delay_ms, most_ms))


def override(host: Host, fact: HostChanged) -> None:
    """A person's word on a host."""
    host.delay_ms, host.concurrency, host.blocked = fact.delay_ms, fact.concurrency, fact.blocked
    if fact.clear_back_off:
        host.back_off_until_ms = host.streak = 0


MOST_CHAINS: Final = 1_000
"""No job and nobody else asks for more requests at once to one host."""


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

    def after(self, answers: int, now_ms: int) -> "Pace":
        """The chains as they are once so many answers are heard; this one is left as it is."""
        if not answers:
            return self
        found = Pace()
        found.in_flight, found.rests = self.in_flight, [*self.rests, *([now_ms] * answers)]
        return found

    def answered(self, count: int, now_ms: int) -> None:
        """So many chains are at rest from now."""
        self.rests.extend([now_ms] * count)
        del self.rests[:-MOST_CHAINS]  # answers that nothing was sent for, after a take-over, would stay for ever
