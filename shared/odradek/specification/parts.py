"""What every part of a specification is made of: strict models, and the small types people spell."""

import re
from typing import Annotated

import ada_url
from pydantic import AfterValidator, BaseModel, ConfigDict

from odradek.patterns import AnyOf, compile_pattern
from odradek.urls import CrawlUrl, identify

_DOMAIN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s/:@?#*\[\]]+)(?::(\d{1,5}))?\Z")
_MAX_PORT = 65_535


class Strict(BaseModel):
    """Unknown fields are refused by name."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True, validate_by_name=False
    )


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def _patterns(texts: tuple[str, ...]) -> tuple[str, ...]:
    AnyOf(texts)
    return texts


def _domain(text: str) -> str:
    match = _DOMAIN.match(text.strip())
    if match is None or int(match[2] or 0) > _MAX_PORT:
        raise ValueError(f"{text!r} is not a host; write books.example or books.example:8080, no scheme, path or *")
    try:
        host = ada_url.URL(f"http://{match[1]}/").hostname.removesuffix(".")
    except ValueError:
        raise ValueError(f"{text!r} is not a host; write books.example or books.example:8080") from None
    return f"{host}:{int(match[2])}" if match[2] else host


def _web_url(text: str) -> str:
    found = identify(text.strip())
    if isinstance(found, CrawlUrl):
        return text.strip()
    if found == "too_long":
        raise ValueError("the URL has more than 2,083 characters")
    hint = f"; write https://{text}" if found == "malformed" and "://" not in text and "." in text else ""
    if "@" in text.partition("://")[2].partition("/")[0]:
        hint = "; user and password belong into fetch.auth"
    raise ValueError(f"{text!r} is not an http or https URL that can be crawled{hint}")


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression in RE2 syntax, searched for: linear time, whatever the page says."""
Patterns = Annotated[tuple[Pattern, ...], AfterValidator(_patterns)]
Domain = Annotated[str, AfterValidator(_domain)]
"""A host, lower case and punycode, or `host:port`."""
WebUrl = Annotated[str, AfterValidator(_web_url)]
"""An absolute http or https URL."""
