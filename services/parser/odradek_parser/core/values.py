"""Text becomes values: numbers with currencies and foreign marks, dates, booleans, absolute URLs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import msgspec
from babel.core import Locale

from odradek.specification import ValueType
from odradek.urls import join

MAX_NUMBER_CHARS = 200
MAX_DATE_CHARS = 100
MOST_GUESSES = 50
"""Texts of a page that are looked for in two hundred languages, 45 ms each, because nobody said which it is in."""
_GAPS = "\u00a0\u202f\u2009 '’_"  # noqa: RUF001  (they do stand between digits)
_NUMBER = re.compile(rf"(?:(?<!\w)[-\u2212+]\s?)?(?:(?<![\w.,])[.,])?\d(?:[\d.,\u066b\u066c{_GAPS}]*\d)?")
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
_PLAIN = re.compile(r"[^0-9.,\u2212+-]*((?:0|[1-9][0-9]*)(?:\.[0-9]{1,2})?)[^\d.,]*", re.ASCII)
"""The usual case, where nothing is in doubt: `EUR 12.34`, `7 in stock`."""
_MAIL_DATE = re.compile(
    r"(?:[a-z]{3,9},\s*)?\d{1,2}[ -][a-z]{3}[ -]\d{2,4}\s+"
    r"\d{1,2}:\d{2}(?::\d{2})?(?:\s+(?:[+-]\d{4}|(?![ap]m)[a-z]{1,4}))?",
    re.IGNORECASE | re.ASCII,
)
_TRUE = frozenset(("true", "yes", "y", "on", "1", "t"))
_FALSE = frozenset(("false", "no", "n", "off", "0", "f"))
_ARABIC = str.maketrans({"\u066b": ".", "\u066c": ","})
"""Arabic decimal and thousands separators."""


class NoValue(ValueError):  # noqa: N818  (says what there is not)
    """The text is not a value of the type; the message says so."""


@dataclass(slots=True)
class Tongue:
    """What the dates of a page have told of its language, where nothing else does."""

    language: str | None = None
    """Of the last date that was understood; the next ones are in it too, most likely."""
    guesses: int = MOST_GUESSES


class Setting(msgspec.Struct, frozen=True):
    """What the page a text stands on decides about its meaning."""

    base_url: str
    fetched_at_ms: int
    language: str | None = None
    tongue: Tongue = msgspec.field(default_factory=Tongue)


Convert = Callable[[str, Setting], Any]


def converter(kind: ValueType, locale: str | None) -> Convert:
    """The function that makes a value of this type; it raises `NoValue`."""
    marks = _marks(locale) if locale is not None else None
    conversions: dict[str, Convert] = {
        "text": lambda text, _: text,
        "html": lambda text, _: text,
        "integer": lambda text, _: _integer(text, marks),
        "decimal": (lambda text, _: _quick(text)) if marks is None else lambda text, _: _plain(_decimal(text, marks)),
        "boolean": lambda text, _: _boolean(text),
        "url": _url,
        "datetime": lambda text, setting: _datetime(text, setting, locale),
    }
    return conversions[kind]


@lru_cache(maxsize=100)
def _marks(locale: str) -> tuple[str, str]:
    symbols = Locale.parse(locale.replace("-", "_")).number_symbols
    latin = symbols.get("latn", symbols)
    return str(latin["decimal"]), str(latin["group"])


def _quick(text: str) -> str:
    usual = _PLAIN.fullmatch(text) if text.isascii() else None
    return usual[1] if usual is not None and len(text) <= MAX_NUMBER_CHARS else _plain(_decimal(text, None))


def _decimal(text: str, marks: tuple[str, str] | None) -> Decimal:
    if len(text) > MAX_NUMBER_CHARS:
        raise NoValue("is too long for a number")
    found = _NUMBER.findall(text)
    if len(found) != 1:
        raise NoValue(f"{text!r} is not a number" if not found else f"{text!r} holds several numbers; add a regex")
    sign, digits = _sign(found[0].translate(_ARABIC))
    for gap in _GAPS:
        digits = digits.replace(gap, "")
    digits = _by_locale(digits, marks) if marks is not None else _by_looks(digits)
    try:
        return Decimal(sign + digits)
    except InvalidOperation:
        raise NoValue(f"{text!r} is not a number") from None


def _sign(number: str) -> tuple[str, str]:
    return ("-" if number[0] in "-\u2212" else ""), number.lstrip("-+\u2212").lstrip()


def _by_locale(digits: str, marks: tuple[str, str]) -> str:
    """In groups of three (or two, as in India), or not grouped at all; anything else is of another locale."""
    decimal, group = marks
    whole, _, fraction = digits.partition(decimal)
    groups = whole.split(group) if group.strip() else [whole]
    if not all(part.isdigit() for part in groups if part) or (len(groups) > 1 and not _well_grouped(groups)):
        raise NoValue(f"{digits!r} is not written as this locale writes numbers")
    return f"{''.join(groups) or '0'}.{fraction or '0'}" if fraction else "".join(groups)


def _well_grouped(groups: list[str]) -> bool:
    first, *middle, last = groups
    return 1 <= len(first) <= 3 and len(last) == 3 and all(len(part) in (2, 3) for part in middle)  # noqa: PLR2004  (thousands, lakhs)


def _by_looks(digits: str) -> str:
    """The last of `.` and `,` followed by one or two digits is the decimal mark (design §4).

    So is one that cannot separate groups of three: `0.125`, `1234.5678`, or the last of two kinds: `1,299.999`.
    """
    at = max(digits.rfind("."), digits.rfind(","))
    if at < 0:
        return digits
    whole, fraction = digits[:at], digits[at + 1 :]
    mixed = "." in digits and "," in digits
    if len(fraction) == 3 and not mixed and _GROUPED.fullmatch(digits) and not digits.startswith("0"):  # noqa: PLR2004  (thousands)
        return re.sub("[.,]", "", digits)
    if digits[at] in whole:
        if len(fraction) == 3:  # noqa: PLR2004  (thousands)
            return re.sub("[.,]", "", digits)
        raise NoValue(f"{digits!r} is not a number")
    return f"{re.sub('[.,]', '', whole)}.{fraction}"


def _plain(number: Decimal) -> str:
    return format(number, "f")


def _integer(text: str, marks: tuple[str, str] | None) -> int:
    number = _decimal(text, marks)
    if number != number.to_integral_value():
        raise NoValue(f"{text!r} is not a whole number")
    return int(number)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise NoValue(f"{text!r} is neither true nor false")


def _url(text: str, setting: Setting) -> str:
    absolute = join(setting.base_url, text.strip())
    if absolute is None:
        raise NoValue(f"{text!r} is not a URL")
    return absolute


def _datetime(text: str, setting: Setting, locale: str | None) -> str:
    text = text.strip()
    if len(text) > MAX_DATE_CHARS or (len(text) < 3 and text.isascii()):  # noqa: PLR2004  (no date is shorter)
        raise NoValue(f"{text[:MAX_DATE_CHARS]!r} is not a date")
    moment = _standard(text) or _spoken(text, setting, locale)
    if moment is None:
        raise NoValue(f"{text!r} is not a date")
    try:
        utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (OverflowError, ValueError):
        raise NoValue(f"{text!r} is out of range") from None
    return utc.isoformat().replace("+00:00", "Z")


def _standard(text: str) -> datetime | None:
    """ISO 8601, or what mail and feeds write (RFC 5322 section 3.3); Python's reader of the latter guesses at more."""
    mail = _MAIL_DATE.fullmatch(text) is not None
    try:
        return parsedate_to_datetime(text) if mail else datetime.fromisoformat(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _spoken(text: str, setting: Setting, locale: str | None) -> datetime | None:
    """A date as people write it; relative ones ("2 hours ago") count from when the page was fetched."""
    language = (locale or setting.language or "").replace("_", "-").split("-")[0].lower() or None
    now = datetime.fromtimestamp(setting.fetched_at_ms / 1000, UTC).replace(second=0, microsecond=0)
    if language is not None and _has_dates(language):
        return _read_date(text, language, locale, now)[0]
    tongue = setting.tongue
    if tongue.language is not None:
        found, _ = _read_date(text, tongue.language, locale, now)
        if found is not None:
            return found
    tongue.guesses -= 1
    if tongue.guesses < 0:
        raise NoValue(f"{text!r} may be a date, but the page has too many in no known language; add a locale")
    found, language = _read_date(text, None, locale, now)
    tongue.language = language or tongue.language
    return found


@lru_cache(maxsize=1000)
def _has_dates(language: str) -> bool:
    from dateparser.data.languages_info import language_locale_dict  # noqa: PLC0415  (as below)

    return language in language_locale_dict


@lru_cache(maxsize=10_000)
def _read_date(
    text: str, language: str | None, locale: str | None, now: datetime
) -> tuple[datetime | None, str | None]:
    """The date, and the language that was understood; with none given, all are tried."""
    from dateparser.date import DateDataParser  # noqa: PLC0415  (takes half a second; most jobs need none of it)

    given: dict[str, Any] = {"languages": [language]} if language else {}
    if locale is not None and "_" in locale:
        given["region"] = locale.rpartition("_")[2]
    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "TO_TIMEZONE": "UTC", "RETURN_AS_TIMEZONE_AWARE": True}
    try:
        parser = DateDataParser(**given, settings={**settings, "TIMEZONE": "UTC"})
    except (ValueError, TypeError):
        given.pop("region", None)  # the language is known, its use there is not
        parser = DateDataParser(**given, settings={**settings, "TIMEZONE": "UTC"})
    try:
        found = parser.get_date_data(text)
    except (ValueError, OverflowError, RecursionError):
        return None, None
    return found.date_obj, str(found.locale).partition("-")[0] if found.locale else None
