"""BeautifulSoup: for selectors that lexbor lacks, for plugins, and for XML.

Of HTML it holds the very tree that lexbor built. html5lib builds the same one (a test compares the two), but in minutes
where a page is made for it: it looks for each misplaced element through all of the page, joins a text anew with each of
its pieces, and compares each attribute of an element with all others.
"""

import warnings
from collections.abc import Iterator, Sequence

import soupsieve
from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning
from bs4.element import Comment, NavigableString, PageElement, PreformattedString, Tag

from odradek_parser.core.firsts import Firsts
from odradek_parser.core.trees import CROWDED, VISITS, Exhausted, LexborTree, Node, paid, seen_text

_ORDINARY_DEPTH = 50
"""Deeper, each level makes selectors dearer that look upwards or at all that is below."""
MOST_NODES = 400_000
"""Of a page, for its copy: about 5 s. An honest page has thousands."""
_XHTML = "http://www.w3.org/1999/xhtml"
_FOREIGN = {"svg": "http://www.w3.org/2000/svg", "math": "http://www.w3.org/1998/Math/MathML"}
_HTML_WITHIN = {
    _FOREIGN["svg"]: frozenset(("foreignobject", "desc", "title")),
    _FOREIGN["math"]: frozenset(("mi", "mo", "mn", "ms", "mtext", "annotation-xml")),
}
"""Foreign elements whose content is HTML again (HTML standard, "HTML integration points" and those of MathML text)."""


class SoupTree:
    """A page as BeautifulSoup holds it."""

    def __init__(self, soup: BeautifulSoup) -> None:
        self.soup = soup
        self.root: Node = soup
        self.visits = VISITS
        self.firsts: Firsts | None = None

    def expect(self, nodes: Sequence[Node]) -> None:
        """As `Tree`; each selector is looked for below each of them."""

    def enter(self, node: Node) -> None:
        """As `Tree`; a selector walks through all that is below the node, and from there up or through all below it."""
        open_ = [(node, 1)]
        while open_:
            above, depth = open_.pop()
            for child in above.children:
                self.visits -= 1 + max(0, depth - _ORDINARY_DEPTH)
                if isinstance(child, Tag):
                    open_.append((child, depth + 1))
            if self.visits < 0:
                raise Exhausted

    def refuse_crowds(self, node: Node, most: int) -> None:
        """As `Tree`."""
        open_ = [node]
        while open_:
            children = open_.pop().contents
            if len(children) > most:
                raise Exhausted(CROWDED.format(most=most))
            open_ += [child for child in children if isinstance(child, Tag)]

    def all(self, node: Node, selector: "soupsieve.SoupSieve") -> list[Node]:
        """As `Tree`."""
        return list(selector.select(node))

    def first(self, node: Node, selector: "soupsieve.SoupSieve") -> Node | None:
        """As `Tree`."""
        return selector.select_one(node)

    def text(self, node: Node) -> str:
        """As `Tree`."""
        return seen_text(self, node)

    def attribute(self, node: Node, name: str) -> str | None:
        """As `Tree`."""
        value = node.get(name)
        return None if value is None else str(value)

    def html(self, node: Node) -> str:
        """As `Tree`."""
        return paid(self, str(node))

    def parent_is(self, node: Node, parent: Node) -> bool:
        """As `Tree`."""
        return node.parent is parent

    def children(self, node: Node) -> Iterator[Node | str]:
        """As `Tree`."""
        for child in node.children:
            if isinstance(child, Tag):
                yield child
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                yield str(child)

    def name(self, node: Node) -> str:
        """As `Tree`."""
        return str(node.name).lower()

    def attributes(self, node: Node) -> dict[str, str]:
        """As `Tree`."""
        return {str(name): str(value) for name, value in node.attrs.items()}


def soup_of_xml(text: str) -> BeautifulSoup:
    """The tree that lxml builds of XML."""
    with warnings.catch_warnings():
        # That a text looks like a file name says nothing: its kind was decided before.
        warnings.simplefilter("ignore", category=MarkupResemblesLocatorWarning)
        return BeautifulSoup(text, "xml", multi_valued_attributes=None)


def soup_of(page: LexborTree, most_nodes: int = MOST_NODES) -> BeautifulSoup:
    """A copy of lexbor's tree without its doctype; every node costs the same, however deep it lies.

    Raises:
        Exhausted: it has more than `most_nodes`.
    """
    soup = BeautifulSoup("", "html.parser", multi_valued_attributes=None)
    last: PageElement = soup
    left = most_nodes
    open_: list[tuple[Iterator[Node], Tag, str]] = [(page.root.iter(include_text=True), soup, _XHTML)]
    while open_:
        nodes, parent, namespace = open_[-1]
        for node in nodes:
            element = _element(node, parent, soup, namespace)
            if element is None:
                continue
            element.setup(parent, last, None, parent.contents[-1] if parent.contents else None, None)
            parent.contents.append(element)
            last, left = element, left - 1
            if left < 0:
                raise Exhausted(f"the page has more than {most_nodes:,} elements and texts, too many for BeautifulSoup")
            if isinstance(element, Tag) and node.first_child is not None:
                within = _within(element)
                open_.append((node.iter(include_text=True), element, within))
                break
        else:
            open_.pop()
    return soup


def _within(element: Tag) -> str:
    namespace = str(element.namespace)
    return _XHTML if element.name.lower() in _HTML_WITHIN.get(namespace, ()) else namespace


def _element(node: Node, parent: Tag, soup: BeautifulSoup, namespace: str) -> PageElement | None:
    if node.is_text_node:
        return soup.builder.string_containers.get(parent.name, NavigableString)(node.text_content or "")
    if node.is_comment_node:
        return Comment(node.comment_content or "")
    if not node.is_element_node:
        return None
    attributes = {name: value or "" for name, value in node.attributes.items()}
    return Tag(soup, soup.builder, node.tag, _FOREIGN.get(node.tag, namespace), attrs=attributes)
