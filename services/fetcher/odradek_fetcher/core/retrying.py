"""Whether a failed try is followed by another, and when."""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset(
    ("dns", "connect", "timeout_connect", "timeout_read", "timeout_total", "too_slow", "reset", "protocol", "proxy",
     "soft_blocked", "http_408", "http_425", "http_429")
)  # fmt: skip
"""Failures that may pass; 5xx too. TLS, decoding, bombs, loops and private addresses end the same each time."""
MAX_RETRY_AFTER_S = 24 * 3600.0


def retried(reason: str) -> bool:
    """True when a failure of this class may pass by itself."""
    return reason in RETRIED or reason.startswith("http_5")


def retry_in_ms(
    reason: str, *, attempt: int, retries: int, delays_s: Sequence[float], retry_after_s: float | None
) -> int | None:
    """After how long the next try is due; None: the failure is final.

    `delays_s` are the waits after the first, second, … failure, the last one repeats; a site that asks for more
    with Retry-After gets it, up to a day.
    """
    if attempt >= retries or not retried(reason) or not delays_s:
        return None
    wait_s = delays_s[min(attempt, len(delays_s) - 1)]
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, MAX_RETRY_AFTER_S))
    return int(wait_s * 1000)


def retry_after_s(value: str | None, now_ms: int) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 section 10.2.3); None when absent or wrong in form."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(min(int(value[:12]), int(MAX_RETRY_AFTER_S)))
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    left_s = (when - datetime.fromtimestamp(now_ms / 1000, UTC)).total_seconds()
    return min(max(left_s, 0.0), MAX_RETRY_AFTER_S)
