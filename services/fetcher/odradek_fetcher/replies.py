"""What carries an exchange and what it brings back, the same for every HTTP library."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from odradek_fetcher.core.answers import Order


class Reply(Protocol):
    """The head of an answer, and its body on the way."""

    @property
    def status(self) -> int:
        """As the site gave it, also numbers that HTTP does not know."""

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Names and values in their order, as they were sent."""

    @property
    def version(self) -> str:
        """Of HTTP, such as `HTTP/1.1`."""

    @property
    def address(self) -> str | None:
        """The other end of the connection, where the library tells."""

    def pieces(self) -> AsyncIterator[bytes]:
        """The raw body, content codings and all. Raises what the library raises."""

    async def aclose(self) -> None:
        """Give the connection back when all was read, else close it."""


class Carrier(Protocol):
    """Connections of one kind."""

    async def carry(self, order: Order, pinned: str | None) -> Reply:
        """Send an order and wait for the head of the answer. Raises what the library raises.

        `pinned`: the address that a SOCKS proxy is told in place of the name.
        """


def split(url: str) -> tuple[str, str]:
    """The origin of a serialised URL, and the rest byte for byte as the site gave it."""
    path = url.find("/", url.find("://") + 3)
    return (url[:path], url[path:]) if path > 0 else (url, "/")
