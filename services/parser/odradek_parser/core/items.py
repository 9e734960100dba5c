"""Records become items, or dead letters: identity, content hash, size (rule P)."""

from typing import Any

import msgspec
import xxhash

from odradek.contracts import Item

MAX_ITEM_BYTES = 8 * 1024 * 1024
"""MongoDB refuses documents of 16 MiB, Kafka messages of that size; a record beyond half of it is a mistake."""
_encoder = msgspec.json.Encoder(enc_hook=str, decimal_format="string")
_ordered = msgspec.json.Encoder(enc_hook=str, decimal_format="string", order="sorted")


def item_id(job: str, kind: str, key: tuple[str, ...]) -> str:
    """The same record found again is the same item."""
    return f"{job}:{xxhash.xxh3_128_hexdigest(_encoder.encode((kind, *key)))}"


def content_hash(data: dict[str, Any]) -> str:
    """128-bit hash of a record's data; the order of its fields does not matter."""
    return xxhash.xxh3_128_hexdigest(_ordered.encode(data))


def item(  # noqa: PLR0913  (an item is what it is)
    *,
    job: str,
    run: int,
    kind: str,
    url: str,
    key: tuple[str, ...],
    data: dict[str, Any],
    meta: dict[str, Any],
    fetched_at_ms: int,
    reparse: int = 0,
) -> Item:
    """The item of a record."""
    return Item(
        id=item_id(job, kind, key),
        job=job,
        type=kind,
        url=url,
        data=data,
        run=run,
        meta=meta,
        key=key,
        fetched_at_ms=fetched_at_ms,
        content_hash=content_hash(data),
        reparse=reparse,
    )


def record_bytes(kind: str, url: str, position: int, data: dict[str, Any]) -> bytes:
    """A malformed record, as it stands in a dead letter."""
    return _encoder.encode({"type": kind, "url": url, "position": position, "data": data})
