"""What one HTTP exchange asked for and what came of it, as values."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from odradek.contracts import FailureClass, Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how much; all of it bounds a site that means harm."""

    connect_s: float = 10.0
    """Name, connection and TLS together."""
    read_s: float = 15.0
    """Between two pieces of an answer."""
    slow_after_s: float = 10.0
    """From the first byte of the body on; then `slow_bytes_per_s` must have come on average."""
    slow_bytes_per_s: int = 200
    ratio: int = 200
    """Decoded to received bytes; more is a bomb, once `ratio_from_bytes` are decoded."""
    ratio_from_bytes: int = 256 * 1024


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange to make: nothing in it needs a further decision."""

    method: str
    url: str
    """Absolute, serialised by the WHATWG rules."""
    host: str
    """Of the URL: lower case, punycode, IPv6 in brackets."""
    headers: tuple[tuple[str, str], ...]
    body: bytes | None = None
    accept: frozenset[str] | None = None
    """Media types whose body is read (see `media.accepted`); null: any."""
    max_bytes: int
    """Of the decoded body; the rest is cut off."""
    proxy: str | None = None
    http2: bool = True
    verify_tls: bool = True
    careful: bool = False
    """Take the other HTTP library: another parser forgives other things."""


class Deadline(msgspec.Struct, frozen=True):
    """When a request must be over, with all its exchanges."""

    total_s: float
    """That it was given."""
    at_s: float
    """By the event loop's clock."""


class Failure(msgspec.Struct, frozen=True):
    """Why no whole answer came."""

    reason: FailureClass
    error: str
    """One sentence."""
    lasting: bool = False
    """Another try would end the same, whatever the reason suggests (an unknown host name)."""


class Headers:
    """Response headers: names in lower case, several values of one name kept apart."""

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name.lower(), []).append(value.strip())

    def get(self, name: str) -> str | None:
        """The values of a header joined by commas, as RFC 9110 section 5.3 has it; None when it is absent."""
        values = self._values.get(name)
        return None if values is None else values[0] if len(values) == 1 else ", ".join(values)

    def names(self) -> list[str]:
        """The names, in the order in which they first came."""
        return list(self._values)

    def all(self, name: str) -> list[str]:
        """Each value as it was sent."""
        return self._values.get(name, [])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and other._values == self._values

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __repr__(self) -> str:
        return f"Headers({self._values!r})"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an order: an answer, or a failure (then with whatever had come before it)."""

    url: str
    status: int | None = None
    headers: Headers = msgspec.field(default_factory=Headers)
    body: bytes | None = None
    """Decoded, at most `max_bytes`; None: not read."""
    truncated: bool = False
    declared_bytes: int | None = None
    failure: Failure | None = None
    unwanted: bool = False
    """The media type is none of those accepted, so the body was left alone."""
    timings: Timings = Timings()
    remote_address: str | None = None
    protocol: str | None = None
    tls_verified: bool | None = None
