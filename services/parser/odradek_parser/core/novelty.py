"""What a page shows, in short, so that the frontier can tell whether a pattern of URLs still brings anything new.

Two pages say the same when a reader sees the same pieces of text and the same images in them, in whatever order, and
their titles, descriptions and JSON-LD are the same, all apart from what stands in their own URLs: the echo of a number,
a session, a date or a sort order is nothing new.
"""

import re
from typing import Final

import xxhash

from odradek.shapes import shape
from odradek_parser.core.documents import Document
from odradek_parser.core.page import PageFacts
from odradek_parser.core.trees import LexborTree

MOST_CHARS: Final = 50_000
"""Of the text; what comes later does not count."""
_MOST_MORE: Final = 200
"""Images and pieces of JSON-LD."""
_MOST_WORDS: Final = 20
"""Of the URL, and of the properties of a page."""
_VARIES = re.compile(r"[\w%.~-]*\d[\w%.~-]*|(?<==)[^&]+")
_APART: Final = "script,body style,body template,img[src]"
_DATA: Final = "application/ld+json"


def content_of(url: str, document: Document, facts: PageFacts) -> str | None:
    """Hash of what the page shows; None when its URL has no shape, or the page no text."""
    if shape(url) is None:
        return None
    text = seen_in(document.lexbor) if document.kind == "html" else document.text
    if not text or text.isspace():
        return None
    said = (facts.title, facts.description, *(value for _, value in facts.properties[:_MOST_WORDS]))
    text = "\n".join([text, *(each for each in said if each)])
    path = url.partition("://")[2].partition("/")[2]
    for word in sorted({_bare(word) for word in _VARIES.findall(path)[:_MOST_WORDS]}, key=len, reverse=True):
        if word:
            text = text.replace(word, "")
    pieces = sorted(set(map(str.strip, text.split("\n"))))
    return xxhash.xxh3_64_hexdigest("\n".join(pieces).encode("utf-8", "replace"))[:12]


def seen_in(tree: LexborTree) -> str:
    """Pieces of text, one a line, JSON-LD, and addresses of images; scripts and styles are not seen."""
    body = tree.parser.body
    if body is None:
        return ""
    text, more = body.text(separator="\n"), list[str]()
    for node in tree.parser.css(_APART):
        if node.tag == "img":
            more.append(node.attributes["src"] or "")
        elif (unseen := node.text()) and node.attributes.get("type") == _DATA:
            more.append(unseen[:MOST_CHARS])
        elif unseen:
            text = text.replace(unseen, "", 1)
    return "\n".join([text[:MOST_CHARS], *more[:_MOST_MORE]])


def _bare(word: str) -> str:
    """A word of the path without its extension."""
    stem, dot, extension = word.rpartition(".")
    return stem if dot and extension.isalpha() else word
