"""Bytes become text: byte-order mark, then the header, then the page's own word, then the look of the bytes.

The order is the one of the HTML standard (section "determining the character encoding"), where the byte-order mark
beats the header. Labels are those of the Encoding standard, so `iso-8859-1` means windows-1252.
"""

import codecs
import re
from functools import lru_cache
from typing import Literal

import msgspec
from charset_normalizer import from_bytes

Source = Literal["bom", "header", "meta", "utf-8", "detector", "fallback"]

PRESCAN_BYTES = 1024
"""How far a page's own word is looked for, as in the HTML standard."""
DETECTOR_BYTES = 16 * 1024
"""The detector sees no more: it costs about 1 ms a KiB."""
FALLBACK = "windows-1252"

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:+-]+)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:+-]+)")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_SUPERSETS = {
    "ascii": "windows-1252", "iso8859-1": "windows-1252", "latin-1": "windows-1252", "iso8859-9": "windows-1254",
    "iso8859-11": "cp874", "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "hz": "gb18030",
    "euc_kr": "cp949", "shift_jis": "cp932", "big5": "big5hkscs",
}  # fmt: skip
"""What browsers really use for these labels: each is a superset of what was declared."""
_ALIASES = {
    "x-sjis": "cp932", "windows-31j": "cp932", "x-gbk": "gb18030", "x-euc-jp": "euc_jp", "x-x-big5": "big5hkscs",
    "windows-949": "cp949", "windows-874": "cp874", "ks_c_5601-1987": "cp949", "x-cp1252": "windows-1252",
    "unicode-1-1-utf-8": "utf-8", "x-mac-roman": "mac_roman", "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",    "iso-8859-8-i": "iso8859-8", "iso-8859-8-e": "iso8859-8",
}  # fmt: skip

_NOT_OF_THE_WEB = frozenset(
    ("utf-7", "idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem")
)
_WEB = [
    "cp1252", "cp1251", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859_2", "iso8859_5",
    "iso8859_7", "koi8_r", "koi8_u", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949", "euc_kr", "cp874",
    "mac_cyrillic",
]  # fmt: skip
"""What the detector may find: encodings that pages are in, of the Encoding standard."""


class Text(msgspec.Struct, frozen=True):
    """A body as text."""

    text: str
    encoding: str
    source: Source
    """What the encoding was known from."""
    replaced: bool = False
    """True when some bytes did not fit and stand as U+FFFD."""


def decoded(body: bytes, header: str | None = None) -> Text:
    """The text of a body; `header` is the charset of its content-type header."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return _text(body[len(mark) :], encoding, "bom")
    named = codec_of(header) if header else None
    if named is not None:
        return _text(body, named, "header")
    own = _own_word(body)
    if own is not None:
        return _text(body, own, "meta")
    try:
        return Text(body.decode(), "utf-8", "utf-8")
    except UnicodeDecodeError:
        return _detected(body)


@lru_cache(maxsize=1000)
def codec_of(label: str) -> str | None:
    """The Python codec for an encoding label of the web; None for a label that means nothing."""
    plain = label.strip().strip("\"'").lower()
    try:
        name = codecs.lookup(_ALIASES.get(plain, plain)).name
        if not codecs.lookup(name)._is_text_encoding:  # noqa: SLF001  (there is no other way to ask)
            return None
    except (LookupError, ValueError):
        return None
    if name in _NOT_OF_THE_WEB:
        return None
    return _SUPERSETS.get(name, name)


def _own_word(body: bytes) -> str | None:
    head = body[:PRESCAN_BYTES]
    found = _XML.match(head)
    if found is None:
        if b"<!--" in head:
            head = _COMMENT.sub(b"", head)
        found = _META.search(head)
    name = codec_of(found[1].decode("ascii")) if found is not None else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _detected(body: bytes) -> Text:
    best = from_bytes(body[:DETECTOR_BYTES], steps=5, chunk_size=512, cp_isolation=_WEB).best()
    if best is None:
        return _text(body, FALLBACK, "fallback")
    name = codec_of(best.encoding)
    return _text(body, name or FALLBACK, "detector" if name else "fallback")


def _text(body: bytes, encoding: str, source: Source) -> Text:
    try:
        return Text(body.decode(encoding), encoding, source)
    except UnicodeDecodeError:
        return Text(body.decode(encoding, "replace"), encoding, source, replaced=True)
