"""Messages to bytes and back: JSON, readable with any Kafka tool, and a schema version in a header.

A value is one msgspec Struct. Unknown fields are ignored and a new field needs a default, so an old reader
understands a new message and the other way round; a breaking change is a new message on a new topic.
"""

from typing import Annotated, Any, TypeVar

import msgspec

SCHEMA_VERSION = 1
"""Version of every message here; travels as the header `schema`."""

SCHEMA_HEADER = "schema"
PAGE_HEADER = "page"
"""Header of a record on the pages topic that carries its `PageMeta` as JSON."""

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: what comes after has no date that stores and clients agree on."""

Instant = Annotated[int, msgspec.Meta(ge=0, le=LATEST_MS)]
"""Milliseconds since 1970."""

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
        msgspec.DecodeError: not JSON, nested too deeply, or not this message (`msgspec.ValidationError` names the
            field).
    """
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    decoded: T = decoded_by(decoder, value)
    return decoded


def decoded_by(decoder: msgspec.json.Decoder[T], value: bytes) -> T:
    """What a decoder makes of these bytes, which anybody may have written.

    Raises:
        msgspec.DecodeError: the decoder refuses them, or they are nested too deeply.
    """
    try:
        decoded: T = decoder.decode(value)
    except RecursionError as error:
        raise msgspec.DecodeError(str(error)) from None
    return decoded


def schema_header() -> tuple[str, bytes]:
    """The header that every produced message carries."""
    return (SCHEMA_HEADER, b"%d" % SCHEMA_VERSION)
