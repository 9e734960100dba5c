"""Selectors compiled once, and which parser a selector needs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import soupsieve
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from odradek_parser.core.firsts import is_plain
from odradek_parser.core.trees import Node, Tree

Engine = Literal["lexbor", "beautifulsoup"]

_SAME = frozenset(
    "not is where has nth-child nth-last-child nth-of-type nth-last-of-type first-child last-child only-child "
    "first-of-type last-of-type only-of-type root checked disabled required optional lexbor-contains".split()
)
"""Pseudo-classes that lexbor and soupsieve agree on (and lexbor's own); a differential test holds this."""
_OPAQUE = re.compile(r"\"[^\"]*\"|'[^']*'|\\.|\[[^\]]*\]")
_PSEUDO = re.compile(r":+([a-zA-Z-]+)")
_CHILD = re.compile(r"&\s*>\s*(\S.*)", re.DOTALL)
_COMBINATOR = re.compile(r"[\s>+~,|&]")

_OF = re.compile(r":nth-[^)]*\sof\s")
MOST_SIBLINGS = 40_000
"""For `:nth-child` and its like: 3 s."""
MOST_SIBLINGS_SLOW = 8_000
"""For `:nth-child(… of …)`, and for BeautifulSoup: 2 s."""

All = Callable[[Tree, Node], list[Node]]


@dataclass(frozen=True, slots=True)
class Selector:
    """A CSS selector for one engine."""

    css: str
    engine: Engine
    all: All
    first: Callable[[Tree, Node], Node | None]


@lru_cache(maxsize=4096)
def engine_for(css: str) -> Engine:
    """The fastest engine that understands this selector as BeautifulSoup does."""
    css = css.strip()
    if css == "&":
        return "lexbor"
    child = _child(css)
    if child is not None:
        return engine_for(child)
    bare = _OPAQUE.sub("", css)
    if "|" in bare or "&" in bare or not {name.lower() for name in _PSEUDO.findall(bare)} <= _SAME:
        return "beautifulsoup"
    try:
        LexborHTMLParser("<p>").css(css)
    except SelectolaxError:
        return "beautifulsoup"
    return "lexbor"


def selector(css: str, engine: Engine) -> Selector:
    """The selector for an engine, which must be one that understands it (BeautifulSoup understands all)."""
    css = css.strip()
    if css == "&":
        return Selector(css, engine, lambda _, node: [node], lambda _, node: node)
    child = _child(css)
    if child is not None and engine == "lexbor":
        return _children(css, child)
    if engine == "lexbor":
        plain = _fast(css)
    else:
        compiled = soupsieve.compile(css)
        plain = Selector(
            css, engine, lambda tree, node: tree.all(node, compiled), lambda tree, node: tree.first(node, compiled)
        )
    return _counting(plain) if ":nth-" in css else plain


def _counting(plain: Selector) -> Selector:
    """One whose cost grows with the square of the number of siblings."""
    slow = plain.engine == "beautifulsoup" or _OF.search(_OPAQUE.sub("", plain.css))
    most = MOST_SIBLINGS_SLOW if slow else MOST_SIBLINGS

    def every(tree: Tree, node: Node) -> list[Node]:
        tree.refuse_crowds(node, most)
        return plain.all(tree, node)

    def first(tree: Tree, node: Node) -> Node | None:
        tree.refuse_crowds(node, most)
        return plain.first(tree, node)

    return Selector(plain.css, plain.engine, every, first)


def _fast(css: str) -> Selector:
    def first(tree: Tree, node: Node) -> Node | None:
        found = node.css_first(css)
        return found if found is None or found.mem_id != node.mem_id else tree.first(node, css)

    def first_of_record(tree: Tree, node: Node) -> Node | None:
        firsts = tree.firsts  # the hottest line of all: a record has some fields, a page some records
        if firsts is not None:
            found, number = firsts.of(css), node.mem_id
            if number in found:
                return found[number]
        return first(tree, node)

    plain = is_plain(css)
    return Selector(css, "lexbor", lambda tree, node: tree.all(node, css), first_of_record if plain else first)


def _child(css: str) -> str | None:
    """The `x` of `& > x` where x is one compound, so that being a child can be judged one by one."""
    found = _CHILD.fullmatch(css)
    if found is None or _COMBINATOR.search(re.sub(r"\([^()]*\)", "", _OPAQUE.sub("", found[1].strip()))):
        return None
    return found[1].strip()


def _children(css: str, child: str) -> Selector:
    def every(tree: Tree, node: Node) -> list[Node]:
        return [found for found in tree.all(node, child) if tree.parent_is(found, node)]

    return Selector(css, "lexbor", every, lambda tree, node: next(iter(every(tree, node)), None))
