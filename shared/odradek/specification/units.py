"""Durations and sizes as a person writes them: `30s`, `5m`, `8MiB`; a bare number is seconds, or bytes."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*\Z")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|KiB|MiB|GiB)?\s*\Z")
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, None: 1}


def duration_s(text: Any) -> float:
    """Seconds in a duration such as `1.5s`, `250ms`, `5m`, `24h`, `7d` or `30`.

    Raises:
        ValueError: not a duration; the message says what one looks like.
    """
    match = _DURATION.match(str(text)) if not isinstance(text, bool) else None
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a number and ms, s, m, h or d, such as 30s")
    return float(match[1]) * _SECONDS[match[2]]


def size_bytes(text: Any) -> int:
    """Bytes in a size such as `8MiB`, `500KB` or `1024`.

    Raises:
        ValueError: not a size; the message says what one looks like.
    """
    match = _SIZE.match(str(text)) if not isinstance(text, bool) else None
    if match is None:
        raise ValueError(f"{text!r} is not a size; write a number and B, KB, MB, GB, KiB, MiB or GiB, such as 8MiB")
    return int(float(match[1]) * _BYTES[match[2]])


Duration = Annotated[float, BeforeValidator(duration_s)]
"""Seconds."""
Size = Annotated[int, BeforeValidator(size_bytes)]
"""Bytes."""
