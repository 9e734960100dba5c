"""Tickets: one download each for who cannot send a key in a header, such as a browser that follows a link.

A ticket is 256 random bits. It opens one address, letter by letter, once, within a minute. What is kept of it is a
hash, in this process alone.
"""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from odradek.keys import hashed

VALID_S: Final = 60.0
MOST_TICKETS: Final = 1_000
"""Open at the same time; the oldest goes first."""
_MARK: Final = "&ticket="
_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class _Ticket:
    path: str
    query: str
    owner: str | None
    until_s: float


@dataclass(slots=True)
class Tickets:
    """Those that were given and not used yet."""

    _open: OrderedDict[str, _Ticket] = field(default_factory=OrderedDict)

    def give(self, path: str, query: str, owner: str | None, now_s: float) -> str:
        """The query with a ticket at its end, which lets in whoever asks for this path with it as if `owner` asked."""
        secret = secrets.token_urlsafe(_BYTES)
        self._open[hashed(secret)] = _Ticket(path, query, owner, now_s + VALID_S)
        while len(self._open) > MOST_TICKETS:
            self._open.popitem(last=False)
        return f"{query}{_MARK}{secret}"

    def take(self, path: str, query: str, now_s: float) -> tuple[str | None] | None:
        """(The name of the key that asked for it,) if a ticket in the query fits; whatever it is, it is used up."""
        before, mark, secret = query.rpartition(_MARK)
        ticket = self._open.pop(hashed(secret), None) if mark else None
        if ticket is None or now_s > ticket.until_s or (path, before) != (ticket.path, ticket.query):
            return None
        return (ticket.owner,)
