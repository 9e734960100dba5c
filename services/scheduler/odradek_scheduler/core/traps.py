"""Traps that a URL shows by itself: each answer is a sentence that names what was seen, None is no trap.

Pure functions of the URL, the job's limits and the year; dispatch and `explain` use the same.
"""

import re
from collections import Counter
from typing import Final

from odradek.specification.traps import Traps

_HORIZON: Final = 100
"""Years beyond a limit that are still taken for a date: an endless calendar is walked page by page, numbers are not."""
_YEAR = r"(?P<year>\d{4})"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DATES = (
    re.compile(rf"(?:^|/){_YEAR}/{_MONTH}(?=[/?]|$)"),
    re.compile(rf"(?<!\d){_YEAR}-{_MONTH}(?:-\d\d?)?(?![\d-])"),
    re.compile(rf"[?&](?:year|yr|y|jahr|annee)={_YEAR}(?=&|$)", re.IGNORECASE),
    re.compile(rf"[?&](?:date|day|month|week|from|start|d)={_YEAR}(?:0[1-9]|1[0-2])(?:[0-3]\d)?(?=&|$)", re.IGNORECASE),
)
_FOUR_DIGITS = re.compile(r"\d{4}")
_LETTER = re.compile(r"[^\W\d_]")


def static_trap(url: str, traps: Traps, year: int) -> str | None:
    """Why the URL by itself looks like a trap; `year`: of today."""
    if traps.max_url_length is not None and len(url) > traps.max_url_length:
        return f"The URL has {len(url):,} characters, more than {traps.max_url_length:,}."
    rest = url.partition("://")[2].partition("#")[0].partition("/")[2]
    path, _, query = rest.partition("?")
    found = _path_trap(path, traps)
    if found is None and query and traps.max_query_parameters is not None:
        count = query.count("&") + 1
        if count > traps.max_query_parameters:
            found = f"The query has {count} parameters, more than {traps.max_query_parameters}."
    return found or calendar_trap(rest, traps, year)


def _path_trap(path: str, traps: Traps) -> str | None:
    if traps.max_path_depth is None and traps.max_repeats is None:
        return None
    segments = [segment for segment in path.split("/") if segment]
    if traps.max_path_depth is not None and len(segments) > traps.max_path_depth:
        return f"The path has {len(segments)} segments, more than {traps.max_path_depth}."
    if traps.max_repeats is None or len(segments) <= traps.max_repeats:
        return None
    segment, count = Counter(segments).most_common(1)[0]
    if count > traps.max_repeats and _LETTER.search(segment):
        return f"The path has the segment {segment!r} {count} times, more than {traps.max_repeats}."
    return _sequence_trap(segments, traps.max_repeats)


def _sequence_trap(segments: list[str], most: int) -> str | None:
    """Two or more segments that come again and again, as links relative to the wrong folder make them."""
    for length in range(2, len(segments) // (most + 1) + 1):
        run = 0
        for at in range(length, len(segments)):
            run = run + 1 if segments[at] == segments[at - length] else 0
            if run == length * most and _LETTER.search("".join(segments[at - length + 1 : at + 1])):
                piece = "/".join(segments[at - length + 1 : at + 1])
                return f"The path has {piece!r} {most + 1} times in a row, more than {most}."
    return None


def calendar_trap(rest: str, traps: Traps, year: int) -> str | None:
    """A date in path or query that lies beyond the job's horizon, as pages of an endless calendar have it."""
    if _FOUR_DIGITS.search(rest) is None:
        return None
    for pattern in _DATES:
        for match in pattern.finditer(rest):
            found = int(match["year"])
            if traps.years_ahead is not None and 0 < found - year - traps.years_ahead <= _HORIZON:
                return f"The URL has a date in {found}, more than {traps.years_ahead} years ahead."
            if traps.years_back is not None and 0 < year - traps.years_back - found <= _HORIZON:
                return f"The URL has a date in {found}, more than {traps.years_back} years back."
    return None
