"""A page as rules see it: text that each parser reads at most once, and only when a rule asks for it."""

import re
from typing import Any, Literal

import msgspec

from odradek_parser.core.selectors import Engine
from odradek_parser.core.soup import SoupTree, soup_of, soup_of_xml
from odradek_parser.core.trees import LexborTree, Node, Tree
from odradek_parser.core.values import Setting
from odradek_parser.core.xml_view import XmlView

Kind = Literal["html", "xml", "json", "text"]

_XML_START = re.compile(r"\s*<\?xml\s")
_HTML_START = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|h1|p|div|a|table)\b", re.IGNORECASE
)
_XHTML = re.compile(r"<html[\s>]", re.IGNORECASE)
_SNIFFED = 2048
_FALSE = object()


def kind_of(media_type: str | None, text: str) -> Kind:
    """What a text is, by its media type, and by its looks where the type says little.

    XML whose root is `html` is read as HTML, as browsers do with nearly all of it.
    """
    media = (media_type or "").partition(";")[0].strip().lower()
    head = text[:_SNIFFED]
    if media in ("text/html", "application/xhtml+xml"):
        return "html"
    if media == "application/json" or media.endswith("+json"):
        return "json"
    if media in ("application/xml", "text/xml") or media.endswith("+xml") or _XML_START.match(head):
        return "html" if _XHTML.search(head) else "xml"
    return "json" if not media and head.lstrip()[:1] in ("{", "[") else "html" if _HTML_START.match(head) else "text"


class Document:
    """One page."""

    def __init__(self, text: str, kind: Kind, setting: Setting) -> None:
        self.text = text
        self.kind = kind
        self.setting = setting
        self._lexbor: LexborTree | None = None
        self._soup: SoupTree | None = None
        self._views: dict[int, XmlView] = {}
        self._json: Any = _FALSE

    @property
    def lexbor(self) -> LexborTree:
        """The fast tree."""
        if self._lexbor is None:
            self._lexbor = LexborTree(self.text)
        return self._lexbor

    @property
    def soup(self) -> SoupTree:
        """The tree as BeautifulSoup; of XML the one that lxml builds."""
        if self._soup is None:
            self._soup = SoupTree(soup_of_xml(self.text) if self.kind == "xml" else soup_of(self.lexbor))
        return self._soup

    @property
    def json(self) -> Any:
        """The value of a JSON response.

        Raises:
            msgspec.DecodeError: it is none.
        """
        if self._json is _FALSE:
            self._json = msgspec.json.decode(self.text.lstrip("\ufeff"))
        return self._json

    def tree(self, engine: Engine) -> Tree:
        """The tree of one parser."""
        return self.lexbor if engine == "lexbor" else self.soup

    def view(self, tree: Tree) -> XmlView:
        """A tree as XPath sees it."""
        view = self._views.get(id(tree))
        if view is None:
            view = self._views[id(tree)] = XmlView(tree)
        return view

    def root(self, engine: Engine) -> tuple[Tree, Node]:
        """A tree and its document node."""
        tree = self.tree(engine)
        return tree, tree.root
