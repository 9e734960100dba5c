"""Durations and sizes as a person writes them: `30s`, `5m`, `8MiB`; a bare number is seconds, or bytes."""

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

_DURATION = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*(ms|s|m|min|h|d)?\s*\Z")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}
LONGEST_S = 1_826_250 * 86_400.0
"""What is added to an instant must lie before the year 10000."""
_SIZE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*(B|KB|MB|GB|KiB|MiB|GiB)?\s*\Z")
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, None: 1}


def duration_s(text: Any) -> float:
    """Seconds in a duration such as `1.5s`, `250ms`, `5m`, `24h`, `7d` or `30`.

    Raises:
        ValueError: not a duration, negative, or longer than 5,000 years; the message says what one looks like.
    """
    amount, unit = _amount(text, _DURATION)
    if amount is None:
        raise ValueError(f"{text!r} is not a duration; write a number and ms, s, m, h or d, such as 30s")
    if amount * _SECONDS[unit] > LONGEST_S:
        raise ValueError(f"{text!r} is longer than 5,000 years")
    return amount * _SECONDS[unit]


def size_bytes(text: Any) -> int:
    """Bytes in a size such as `8MiB`, `500KB` or `1024`.

    Raises:
        ValueError: not a size, or negative; the message says what one looks like.
    """
    amount, unit = _amount(text, _SIZE)
    if amount is None:
        raise ValueError(f"{text!r} is not a size; write a number and B, KB, MB, GB, KiB, MiB or GiB, such as 8MiB")
    return int(amount * _BYTES[unit])


def expiry(text: Any) -> float | str:
    """Seconds from acceptance, or an instant as ISO 8601 in UTC; an ISO time without zone is UTC.

    Raises:
        ValueError: neither.
    """
    if _amount(text, _DURATION)[0] is not None:
        return duration_s(text)
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise ValueError(f"{text!r} is neither a duration such as 24h nor a time such as 2030-01-31T12:00Z") from None
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat().replace("+00:00", "Z")


def _amount(text: Any, form: re.Pattern[str]) -> tuple[float | None, str | None]:
    if isinstance(text, int | float) and not isinstance(text, bool):
        sound = 0 <= text <= 10**15 and math.isfinite(text)
        return (float(text) if sound else None), None
    match = form.match(text) if isinstance(text, str) else None
    return (float(match[1]), match[2]) if match is not None else (None, None)


Duration = Annotated[float, BeforeValidator(duration_s)]
"""Seconds."""
Size = Annotated[int, BeforeValidator(size_bytes)]
"""Bytes."""
Expiry = Annotated[float | str, BeforeValidator(expiry)]
"""Seconds from acceptance, or an instant."""
