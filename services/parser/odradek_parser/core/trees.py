"""Two engines behind one small seam: lexbor, which is fast, and BeautifulSoup, which knows every selector.

Both see the tree that lexbor builds by the HTML standard, so a rule finds the same in both; which of them a rule needs
is decided when it is compiled. A node is whatever the engine calls one; only the tree it came from can read it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from selectolax.lexbor import LexborHTMLParser

from odradek_parser.core.firsts import TAGS_A_WALK, Firsts

Node = Any
"""An element of the tree at hand."""
_UNSEEN = frozenset(("script", "style", "template"))
_BLOCKS = frozenset(
    "address article aside blockquote br caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol optgroup option p pre section summary table "
    "tbody td tfoot th thead tr ul".split()
)
_TEXT_ID = 2
_UNSEEN_IDS = frozenset(
    node.tag_id for node in LexborHTMLParser("<script></script><style></style><template></template>").css("head > *")
)

VISITS = 1_000_000
"""Of nodes, for one rule on one page: a few seconds. An honest page needs thousands; in one that is nested ten thousand
deep each element holds all others, and reading them all would take hours."""
_CHARS_A_VISIT = 20
CROWDED = "an element has more than {most:,} children here, too many for a selector that counts them"


class Exhausted(Exception):  # noqa: N818  (a decision, not a defect)
    """A rule needs more work on a page than is done for one; without a message, it has looked at too many nodes."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(
            message or f"the rule looks at more than {VISITS:,} elements here: its matches lie inside each other"
        )


class Tree(Protocol):
    """A parsed page."""

    root: Node
    """The whole document."""
    visits: int
    """Nodes that may still be looked at."""
    firsts: Firsts | None
    """What plain selectors find first in each of the records that are being read; None: it is looked for one by one."""

    def expect(self, nodes: Sequence[Node]) -> None:
        """Records are about to be read at these nodes, and at no others before the next call."""

    def enter(self, node: Node) -> None:
        """A record is about to be read at a node.

        Raises:
            Exhausted: as texts and outer HTML do, too.
        """

    def refuse_crowds(self, node: Node, most: int) -> None:
        """For selectors that count: both engines walk through the siblings of each sibling.

        Raises:
            Exhausted: an element at or below the node has more children than `most`.
        """

    def all(self, node: Node, selector: Any) -> list[Node]:
        """Elements below a node, in document order; never the node itself."""

    def first(self, node: Node, selector: Any) -> Node | None:
        """The first of them."""

    def text(self, node: Node) -> str:
        """What a reader sees, white space collapsed; scripts, styles and templates are not seen."""

    def attribute(self, node: Node, name: str) -> str | None:
        """The value of an attribute, empty when it has none; None: no such attribute."""

    def html(self, node: Node) -> str:
        """Outer HTML."""

    def parent_is(self, node: Node, parent: Node) -> bool:
        """True if `node` is a child of `parent`."""

    def children(self, node: Node) -> Iterator[Node | str]:
        """Child elements and pieces of text."""

    def name(self, node: Node) -> str:
        """Tag name, lower case."""

    def attributes(self, node: Node) -> dict[str, str]:
        """All attributes."""


class LexborTree:
    """A page as lexbor reads it."""

    def __init__(self, text: str) -> None:
        self.parser = LexborHTMLParser(text)
        top: Node = self.parser.root
        self.root: Node = top.parent  # the document, which no selector matches
        self.visits = VISITS
        self.firsts: Firsts | None = None
        self._tags = text.count("<")

    def expect(self, nodes: Sequence[Node]) -> None:
        """As `Tree`."""
        worth = len(nodes) > 1 and len(nodes) * TAGS_A_WALK > self._tags
        self.firsts = Firsts(self.root, nodes) if worth else None

    def enter(self, node: Node) -> None:
        """As `Tree`; a selector costs this parser next to nothing."""

    def refuse_crowds(self, node: Node, most: int) -> None:
        """As `Tree`."""
        if self._tags <= most:
            return
        open_ = [node]
        while open_:
            children = list(open_.pop().iter())
            if len(children) > most:
                raise Exhausted(CROWDED.format(most=most))
            open_ += children

    def all(self, node: Node, selector: str) -> list[Node]:
        """As `Tree`. In what lexbor gives the node itself comes first, and what several of a list match comes twice."""
        found: list[Node] = node.css(selector)
        if "," in selector:
            unique = {each.mem_id: each for each in found}
            unique.pop(node.mem_id, None)
            return list(unique.values())
        return found[1:] if found and found[0].mem_id == node.mem_id else found

    def first(self, node: Node, selector: str) -> Node | None:
        """As `Tree`."""
        found = node.css_first(selector)
        if found is None or found.mem_id != node.mem_id:
            return found
        return next(iter(self.all(node, selector)), None)

    def text(self, node: Node) -> str:
        """As `Tree`; a node with nothing but text in it, the usual case, is read at once."""
        child = node.first_child
        if child is None:
            return ""
        text = child.text_content
        if text is not None and child.next is None and node.tag_id not in _UNSEEN_IDS:
            return collapsed(text)
        return seen_text(self, node)

    def attribute(self, node: Node, name: str) -> str | None:
        """As `Tree`."""
        attributes = node.attributes
        return (attributes[name] or "") if name in attributes else None

    def html(self, node: Node) -> str:
        """As `Tree`."""
        html: str = node.html or ""
        return paid(self, html)

    def parent_is(self, node: Node, parent: Node) -> bool:
        """As `Tree`."""
        above = node.parent
        return above is not None and above.mem_id == parent.mem_id

    def children(self, node: Node) -> Iterator[Node | str]:
        """As `Tree`."""
        for child in node.iter(include_text=True):
            if child.tag_id == _TEXT_ID:
                yield child.text_content or ""
            elif not (child.tag or "-").startswith("-"):
                yield child

    def name(self, node: Node) -> str:
        """As `Tree`."""
        return (node.tag or "").lower()

    def attributes(self, node: Node) -> dict[str, str]:
        """As `Tree`."""
        return {name: value or "" for name, value in node.attributes.items()}


def spend(tree: Tree, visits: int) -> None:
    """Count work on a page.

    Raises:
        Exhausted: the rule has done too much.
    """
    tree.visits -= visits
    if tree.visits < 0:
        raise Exhausted


def paid(tree: Tree, html: str) -> str:
    """Outer HTML, once it is counted; raises as `spend`."""
    spend(tree, len(html) // _CHARS_A_VISIT)
    return html


def collapsed(text: str) -> str:
    """White space stripped, and a single space wherever there was some."""
    if "  " not in text and text.isprintable() and text[:1] != " " and text[-1:] != " ":
        return text  # no white space but single spaces is printable
    return " ".join(text.split())


def seen_text(tree: Tree, node: Node) -> str:
    """The text below a node, without what is never shown; blocks are apart, inline elements are not."""
    parts: list[str] = []
    if tree.name(node) in _UNSEEN:
        return ""
    open_: list[tuple[Iterator[Node | str], bool]] = [(tree.children(node), False)]
    while open_:
        children, block = open_[-1]
        for child in children:
            tree.visits -= 1
            if isinstance(child, str):
                parts.append(child)
                continue
            name = tree.name(child)
            if name in _UNSEEN:
                continue
            if tree.visits < 0:
                raise Exhausted
            if name in _BLOCKS:
                parts.append(" ")
            open_.append((tree.children(child), name in _BLOCKS))
            break
        else:
            open_.pop()
            if block:
                parts.append(" ")
    return collapsed("".join(parts))
