"""A page as XPath sees it."""

import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from odradek_parser.core.trees import LexborTree, Node, Tree

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)


class XmlView:
    """The same tree for XPath: built from it once, and able to say which node an lxml element stands for."""

    def __init__(self, tree: Tree) -> None:
        self._nodes: dict[Any, Node] = {}
        self._elements: dict[Any, Any] = {}
        self._tree = tree
        self._identity: Callable[[Node], Any] = (lambda node: node.mem_id) if isinstance(tree, LexborTree) else id
        top = next((child for child in tree.children(tree.root) if not isinstance(child, str)), tree.root)
        self.root = self._element(top)
        self._fill(top)

    def element(self, node: Node) -> Any:
        """The lxml element that stands for a node."""
        return self._elements.get(self._identity(node), self.root)

    def node(self, element: Any) -> Node:
        """The node that an lxml element stands for."""
        return self._nodes[element]

    def _element(self, node: Node, parent: Any = None) -> Any:
        name = self._tree.name(node)
        name = name if _XML_NAME.match(name) else "unnamed"
        attributes = {
            key: _NOT_XML.sub("", value) for key, value in self._tree.attributes(node).items() if _XML_NAME.match(key)
        }
        element = etree.Element(name, attributes) if parent is None else etree.SubElement(parent, name, attributes)
        self._nodes[element] = node
        self._elements[self._identity(node)] = element
        return element

    def _fill(self, top: Node) -> None:
        open_ = [(top, self.root)]
        while open_:
            node, element = open_.pop()
            last, texts = None, list[str]()
            for child in self._tree.children(node):
                if isinstance(child, str):
                    texts.append(child)
                    continue
                _write(element, last, texts)
                last, texts = self._element(child, element), []
                open_.append((child, last))
            _write(element, last, texts)


def _write(element: Any, last: Any, texts: list[str]) -> None:
    """The texts, which comments may part, before the first child or after the last one so far."""
    text = _NOT_XML.sub("", "".join(texts)) or None
    if last is None:
        element.text = text
    else:
        last.tail = text
