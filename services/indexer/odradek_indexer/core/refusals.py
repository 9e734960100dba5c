"""What a store says to one document, told apart: stored, there already, try again, hopeless."""

from enum import Enum

_DUPLICATE_KEY = frozenset({11000, 11001, 12582})
_PASSING = frozenset({
    6, 7, 89,                      # host unreachable, not found, network timeout
    24, 46, 50, 262,               # lock timeout, lock busy, time limits
    63, 13388, 150,                # stale routing of a sharded collection
    64, 100,                       # write concern not met
    91, 11600, 11602,              # shutting down, interrupted
    112,                           # write conflict
    189, 10107, 13435, 13436, 10058,  # no primary here now
    13, 18, 8000,                  # not (yet) allowed: a person repairs that, and no item must be lost meanwhile
    14031, 39,                     # disk full
    9001,                          # socket
})  # fmt: skip
"""MongoDB's error codes that say something of the server and nothing of the document."""

OK = 200
CREATED = 201
CONFLICT = 409
TOO_MANY = 429
SERVER_ERROR = 500
_ABOUT_THE_SERVER = frozenset({401, 403, 404, 408, TOO_MANY})
"""No access (a person repairs that), no index (it is made again), too slow, too much."""


class Fate(Enum):
    """What is to be done about a write."""

    stored = "stored"
    there = "there"
    again = "again"
    hopeless = "hopeless"


def fate_in_documents(code: int) -> Fate:
    """The fate of a document that MongoDB refused with this error code."""
    if code in _DUPLICATE_KEY:
        return Fate.there
    return Fate.again if code in _PASSING else Fate.hopeless


def fate_in_search(status: int) -> Fate:
    """The fate of an event, or of a whole request, to which Elasticsearch gave this status."""
    if status in (OK, CREATED):
        return Fate.stored
    if status == CONFLICT:
        return Fate.there
    return Fate.again if status in _ABOUT_THE_SERVER or status >= SERVER_ERROR else Fate.hopeless
