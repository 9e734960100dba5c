"""What every part of a specification is made of: strict models, and the small types people spell."""

import re
from typing import Annotated, Any

import ada_url
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import to_json

from odradek.nesting import deeper_than
from odradek.patterns import AnyOf, compile_pattern
from odradek.urls import CrawlUrl, identify

_DOMAIN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s/:@?#*\[\]]+)(?::(\d{1,5}))?\Z")
_MAX_PORT = 65_535
MAX_META_BYTES = 64 * 1024
"""It goes with every item and every crawl event."""
MAX_META_DEPTH = 50


class Strict(BaseModel):
    """Unknown fields are refused by name."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True, validate_by_name=False
    )


def meta_refusal(meta: dict[str, Any]) -> str | None:
    """Why this cannot go with items and crawl events; None: it can."""
    if deeper_than(meta, MAX_META_DEPTH):
        return f"is nested deeper than {MAX_META_DEPTH} levels"
    size = len(to_json(meta, fallback=str))
    return f"has {size:,} bytes; at most {MAX_META_BYTES:,} go with every item" if size > MAX_META_BYTES else None


def _meta(meta: dict[str, Any]) -> dict[str, Any]:
    refusal = meta_refusal(meta)
    if refusal is not None:
        raise ValueError(refusal)
    return meta


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


Count = Annotated[int, Field(le=10**12)]
"""Pages, links: no crawl has more, and every engine can hold it."""
Depth = Annotated[int, Field(ge=0, le=10**6)]
Meta = Annotated[dict[str, Any], AfterValidator(_meta)]
Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression in RE2 syntax, searched for: linear time, whatever the page says."""
Patterns = Annotated[tuple[Pattern, ...], AfterValidator(_patterns)]
Domain = Annotated[str, AfterValidator(_domain)]
"""A host, lower case and punycode, or `host:port`."""
WebUrl = Annotated[str, AfterValidator(_web_url)]
"""An absolute http or https URL."""
