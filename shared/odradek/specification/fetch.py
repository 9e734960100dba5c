"""How a URL is asked for: the part `fetch` of a specification."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from odradek.specification.parts import Strict
from odradek.units import Duration, size_bytes

MAX_BODY_BYTES = 15 * 1024 * 1024
"""A page travels as one Kafka message of at most 16 MiB."""
ACCEPTED_TYPES = (
    "text/html", "application/xhtml+xml", "application/xml", "text/xml", "application/json",
    "application/rss+xml", "application/atom+xml",
)  # fmt: skip
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_BREAKS = re.compile(r"[\r\n\0]")
_PROXY = re.compile(r"(https?|socks5h?)://[^\s/]+/?\Z|.*\$\{env:\w+\}")


def _one_line(text: str) -> str:
    if _BREAKS.search(text):
        raise ValueError("a header has no line breaks")
    return text


def _header_name(text: str) -> str:
    if not _TOKEN.match(text):
        raise ValueError(f"{text!r} is not the name of a header or cookie")
    return text


def _proxy(text: str) -> str:
    if not _PROXY.match(text):
        raise ValueError(f"{text!r} is not a proxy; write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")
    return text


def _body_limit(value: Any) -> int:
    size = size_bytes(value)
    if not 1 <= size <= MAX_BODY_BYTES:
        raise ValueError("at least 1 byte and at most 15MiB: a page travels as one Kafka message")
    return size


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


Name = Annotated[str, AfterValidator(_header_name)]
Line = Annotated[str, AfterValidator(_one_line)]


class Auth(Strict):
    """Credentials for the site, as `${env:NAME}`; resolved in the fetcher, redacted everywhere."""

    basic: Line | None = None
    """user:password"""
    bearer: Line | None = None

    @model_validator(mode="after")
    def _one(self) -> "Auth":
        if (self.basic is None) == (self.bearer is None):
            raise ValueError("needs exactly one of basic or bearer")
        return self


class Fetch(Strict):
    """How a URL is asked for."""

    method: Annotated[Literal["GET", "POST", "HEAD"], BeforeValidator(_upper)] = "GET"
    body: str | None = None
    """Like the method part of the fingerprint."""
    user_agent: Line | None = None
    """Null: product token and contact URL from the settings."""
    user_agents: tuple[Line, ...] = ()
    """Taken in turn."""
    headers: dict[Name, Line] = {}
    cookies: dict[Name, Line] = {}
    auth: Auth | None = None
    proxies: tuple[Annotated[str, AfterValidator(_proxy)], ...] = ()
    """http, https or socks5; taken in turn, sick ones left out."""
    http2: bool = True
    verify_tls: bool = True
    timeout: Annotated[Duration, Field(gt=0)] = 30.0
    """Total; connect 10 s, read 15 s."""
    max_bytes: Annotated[int, BeforeValidator(_body_limit)] = 8 * 1024 * 1024
    """Of a body after content-decoding; what is longer is cut and marked `truncated`."""
    retries: int = Field(default=3, ge=0, le=20)
    """After the first try; 4xx is not retried, except 408, 425 and 429."""
    accept: tuple[str, ...] = ACCEPTED_TYPES
    """Content types that are pages; others are skipped. robots.txt and sitemaps have their own."""
