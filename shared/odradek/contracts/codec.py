"""Messages to bytes and back: JSON, readable with any Kafka tool, and a schema version in a header.

A value is one msgspec Struct. Unknown fields are ignored and a new field needs a default, so an old reader
understands a new message and the other way round; a breaking change is a new message on a new topic.
"""

from typing import Any, TypeVar

import msgspec

SCHEMA_VERSION = 1
"""Version of every message here; travels as the header `schema`."""

SCHEMA_HEADER = "schema"
PAGE_HEADER = "page"
"""Header of a record on the pages topic that carries its `PageMeta` as JSON."""

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every message is: frozen, named fields, defaults left out on the wire."""


def encode(message: msgspec.Struct) -> bytes:
    """One message as JSON bytes."""
    return _encoder.encode(message)


def decode(kind: type[T], value: bytes) -> T:
    """The message of type `kind` in these bytes.

    Raises:
        msgspec.DecodeError: not JSON, or not this message (`msgspec.ValidationError` names the field).
    """
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    decoded: T = decoder.decode(value)
    return decoded


def schema_header() -> tuple[str, bytes]:
    """The header that every produced message carries."""
    return (SCHEMA_HEADER, b"%d" % SCHEMA_VERSION)
