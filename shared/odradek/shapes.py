"""The shape of a URL: what pages that are made in one way have in common, written as a pattern for a person.

Host and port, the path with numbers and identifiers replaced, and the names of the query parameters, such as
`shop.example/list/{n}?page&sort`. A URL in which nothing varies has no shape: it is one page, not one of many.
"""

import re
from functools import lru_cache
from typing import Final

NUMBER: Final = "{n}"
IDENTIFIER: Final = "{id}"
MAX_SHAPE: Final = 500
"""Characters; a longer shape is cut."""

_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDS = re.compile(r"[0-9A-Za-z]{8,}")
_HEX = re.compile(r"[0-9a-fA-F]{16,}\Z")
_SWITCH = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SWITCHES: Final = 2
"""A word that changes between letters and digits so often is an identifier; `top10` and `covid19` are words."""


@lru_cache(maxsize=8192)
def shape(url: str) -> str | None:
    """The pattern that a URL follows; None when it stands for itself alone."""
    rest = url.partition("://")[2].partition("#")[0]
    place, mark, query = rest.partition("?")
    host, slash, path = place.partition("/")
    shaped = _shaped(path)
    if shaped == path and not query:
        return None
    names = "&".join(sorted({_shaped(pair.partition("=")[0]) for pair in query.split("&") if pair}))
    return f"{host}{slash}{shaped}{mark if names else ''}{names}"[:MAX_SHAPE]


def pattern_of(url: str) -> str:
    """The pattern by which a person names the URL and those like it; the URL itself, without scheme, if it has none."""
    return shape(url) or url.partition("://")[2].partition("#")[0][:MAX_SHAPE]


def host_of(pattern: str) -> str:
    """The host (and port) that a pattern belongs to."""
    return pattern.partition("/")[0].partition("?")[0]


def _shaped(text: str) -> str:
    if _DIGITS.search(text) is None:
        return text
    if len(text) >= 8:  # noqa: PLR2004  (shorter ones are numbers and words)
        text = _WORDS.sub(_word, _UUID.sub(IDENTIFIER, text))
    return _DIGITS.sub(NUMBER, text)


def _word(match: re.Match[str]) -> str:
    word = match[0]
    if word.isdigit() or word.isalpha():
        return word
    return IDENTIFIER if _HEX.match(word) or len(_SWITCH.findall(word)) >= _SWITCHES else word
