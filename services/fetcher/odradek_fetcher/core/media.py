"""Media types: what a content-type header says, and whether a job wants it."""

from functools import lru_cache

SITEMAP_TYPES = frozenset(
    (
        "application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "text/plain", "text/html",
        "application/gzip", "application/x-gzip", "application/octet-stream", "binary/octet-stream",
    )
)  # fmt: skip
"""What sitemaps are sent as, rightly or not; the parser looks at what they are."""

SNIFFED_BYTES = 512
MAX_CHARSET_CHARS = 100


@lru_cache(maxsize=4096)
def media_type(content_type: str | None) -> str | None:
    """`text/html` of `Text/HTML; charset=utf-8`; None when the header is absent or has no slash in it."""
    if content_type is None:
        return None
    name = content_type.partition(";")[0].partition(",")[0].strip().lower()
    return name if "/" in name else None


@lru_cache(maxsize=4096)
def charset(content_type: str | None) -> str | None:
    """The charset parameter in lower case, without quotes; None when there is none."""
    for parameter in (content_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()[:MAX_CHARSET_CHARS] or None
    return None


def accepted(media: str | None, accept: frozenset[str] | None) -> bool:
    """True when the body is wanted: its type is listed, or by `text/*` or `*/*`, or the site names none."""
    if media is None or accept is None:
        return True
    return media in accept or f"{media.partition('/')[0]}/*" in accept or "*/*" in accept


def looks_binary(start: bytes) -> bool:
    """True when bytes without a media type are no text: a zero byte early on, in no encoding that has them."""
    head = start[:SNIFFED_BYTES]
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))
