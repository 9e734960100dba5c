"""Structured data that a page carries beside its text: JSON-LD, microdata, OpenGraph."""

import json
import re
from typing import Any

import msgspec

from odradek.nesting import MAX_DEPTH, deeper_than, may_be_deeper_than
from odradek.urls import join
from odradek_parser.core.trees import VISITS, Exhausted, LexborTree, Node

DEPTH = MAX_DEPTH - 10
"""Of JSON-LD, so that there is room for where it stands in a record."""
MAX_ITEMS = 1000
"""Microdata items and properties of one page."""
_QUERY = 'script[type="application/ld+json" i],[itemscope]'
_WIDE = re.compile(r"\d{19}")
"""A number that may not fit into 64 bits, the most that a store takes."""
_COMMENTS = re.compile(
    r"\A\s*(?:<!--|/\*\s*<!\[CDATA\[\s*\*/|//\s*<!\[CDATA\[)|(?:-->|/\*\s*\]\]>\s*\*/|//\s*\]\]>)\s*\Z"
)
_URL_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_VALUE_ATTRIBUTES = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}


def structured_data(tree: LexborTree, base_url: str, properties: list[tuple[str, str]]) -> dict[str, Any]:
    """`json_ld` (objects as they stand), `microdata` (type, id, properties) and `opengraph`; only what is there."""
    scripts: list[Any] = []
    items: list[dict[str, Any]] = []
    microdata = _Microdata(tree, base_url)
    tree.visits = VISITS
    for node in tree.parser.css(_QUERY):
        if node.tag == "script":
            scripts += _json_ld(node.text())
        elif "itemprop" not in node.attributes and len(items) < MAX_ITEMS:
            items.append(microdata.item(node))
    found = {"json_ld": scripts, "microdata": items, "opengraph": _open_graph(properties)}
    return {name: value for name, value in found.items() if value}


def _json_ld(text: str) -> list[Any]:
    for attempt in (text, _COMMENTS.sub("", text)):
        try:
            value = msgspec.json.decode(attempt)
            if _WIDE.search(attempt):
                value = json.loads(attempt, parse_int=_whole)
        except (ValueError, RecursionError):
            continue
        if may_be_deeper_than(attempt.encode(), DEPTH) and deeper_than(value, DEPTH):
            continue
        return value if isinstance(value, list) else [value]
    return []


def _whole(digits: str) -> int | str:
    """A number past 64 bits stays as its digits: one of them would keep its whole record out of the store."""
    return int(digits) if len(digits) < 19 or -(1 << 63) <= int(digits) < 1 << 63 else digits  # noqa: PLR2004  (see `_WIDE`)


def _open_graph(properties: list[tuple[str, str]]) -> dict[str, Any]:
    """Property to its value, or to all of them in order when it is given several times."""
    found: dict[str, Any] = {}
    for name, value in properties:
        known = found.get(name)
        if known is None:
            found[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            found[name] = [known, value]
    return found


class _Microdata:
    """The algorithm of the HTML standard, section "Microdata"."""

    def __init__(self, tree: LexborTree, base_url: str) -> None:
        self._tree = tree
        self._base_url = base_url
        self._left = MAX_ITEMS * 10

    def item(self, node: Node, above: frozenset[int] = frozenset()) -> dict[str, Any]:
        attributes = node.attributes
        found: dict[str, Any] = {}
        if attributes.get("itemtype"):
            found["type"] = attributes["itemtype"]
        if attributes.get("itemid"):
            found["id"] = join(self._base_url, attributes["itemid"]) or attributes["itemid"]
        found["properties"] = self._properties(node, above | {node.mem_id})
        return found

    def _properties(self, item: Node, above: frozenset[int]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        waiting = [*reversed(list(item.iter()))]
        for identity in reversed((item.attributes.get("itemref") or "").split()):
            referred = self._tree.parser.css_first(f'[id="{identity}"]') if '"' not in identity else None
            if referred is not None:
                waiting.insert(0, referred)
        seen: set[int] = set()
        while waiting and self._left > 0:
            node = waiting.pop()
            if node.mem_id in seen or node.mem_id in above:
                continue
            seen.add(node.mem_id)
            attributes = node.attributes
            if "itemscope" not in attributes:
                waiting += reversed(list(node.iter()))
            for name in (attributes.get("itemprop") or "").split():
                self._left -= 1
                found.setdefault(name, []).append(self._value(node, attributes, above))
        return found

    def _value(self, node: Node, attributes: dict[str, str | None], above: frozenset[int]) -> Any:
        if "itemscope" in attributes:
            return self.item(node, above)
        tag = node.tag
        if tag in _URL_ATTRIBUTES:
            reference = attributes.get(_URL_ATTRIBUTES[tag]) or ""
            return join(self._base_url, reference) or reference
        name = _VALUE_ATTRIBUTES.get(tag)
        if name is not None and name in attributes:
            return attributes[name] or ""
        return attributes["content"] if attributes.get("content") else self._text(node)

    def _text(self, node: Node) -> str:
        try:
            return self._tree.text(node)
        except Exhausted:
            self._left = 0
            return ""
