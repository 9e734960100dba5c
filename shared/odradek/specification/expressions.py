"""Whether the expressions of `extract` are ones: asked of the engines that will read them."""

import re
from collections.abc import Callable

import jmespath
import soupsieve
from babel.core import Locale, UnknownLocaleError
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_MAX_LENGTH = 4_000
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_PSEUDO = re.compile(r"::(text\b|attr\s*\()")


def _bounded(text: str) -> str:
    if not 0 < len(text.strip()) <= _MAX_LENGTH:
        raise ValueError(f"must have 1 to {_MAX_LENGTH:,} characters")
    return text.strip()


def css(text: str) -> str:
    """The CSS selector, if one of the engines reads it."""
    text = _bounded(text)
    if _PSEUDO.search(_QUOTED.sub("", text)):
        raise ValueError(f"{text!r}: ::text and ::attr() are not CSS; text is the default, an attribute is `attr:`")
    try:
        soupsieve.compile(text)
    except (soupsieve.SelectorSyntaxError, NotImplementedError, RecursionError) as error:
        if not _lexbor_reads(text):
            raise ValueError(f"{text!r} is not a CSS selector: {str(error).splitlines()[0]}") from None
    return text


def _lexbor_reads(text: str) -> bool:
    """True for what only this engine knows, such as `:lexbor-contains()`."""
    try:
        LexborHTMLParser("<p>").css(text)
    except SelectolaxError:
        return False
    return True


def xpath(text: str) -> str:
    """The XPath, if lxml reads it."""
    try:
        etree.XPath(_bounded(text))
    except etree.XPathError as error:
        raise ValueError(f"{text!r} is not an XPath: {error}") from None
    return text.strip()


def json_path(text: str) -> str:
    """The JMESPath, if it is one."""
    try:
        jmespath.compile(_bounded(text))
    except (jmespath.exceptions.JMESPathError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{text!r} is not a JMESPath: {reason}") from None
    return text.strip()


def locale(text: str) -> str:
    """The locale as Babel writes it."""
    try:
        return str(Locale.parse(text.replace("-", "_")))
    except (UnknownLocaleError, ValueError):
        raise ValueError(f"{text!r} is not a known locale; write one such as de_DE") from None


CHECKS: dict[str, Callable[[str], str]] = {"css": css, "xpath": xpath, "jmespath": json_path, "locale": locale}
"""By kind; each gives the expression without white space around it, or raises ValueError."""
