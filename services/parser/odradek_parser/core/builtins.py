"""Records without rules: `structured_data`, `article` (main text and metadata), `links` (with their anchor text)."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from odradek.urls import join
from odradek_parser.core.structured import structured_data
from odradek_parser.core.trees import VISITS, LexborTree, Node
from odradek_parser.core.values import NoValue

if TYPE_CHECKING:
    from odradek_parser.core.rules import Page

MAX_ARTICLE_CHARS = 500_000
"""Of the HTML; what is beyond is cut: the extraction costs 5 to 20 ms for 1,000 characters of it."""
MAX_ANCHOR_CHARS = 1_000
_LINKS = "a[href],area[href],link[href],iframe[src],frame[src]"


def structured_record(page: "Page") -> dict[str, Any] | None:
    """What a page carries beside its text; None when there is nothing."""
    if page.document.kind != "html":
        return None
    return structured_data(page.document.lexbor, page.facts.base_url, page.facts.properties) or None


def article_record(page: "Page") -> dict[str, Any] | None:
    """Main text and metadata as trafilatura finds them; None on a page that has no main text.

    Raises:
        NoValue: trafilatura fails on this page, as it does on a few that are broken beyond use.
    """
    from trafilatura import bare_extraction  # noqa: PLC0415  (takes most of a second; most jobs need none of it)

    facts = page.facts
    fetched = datetime.fromtimestamp(page.meta.fetched_at_ms / 1000, UTC).date().isoformat()
    try:
        found: Any = bare_extraction(
            page.document.text[:MAX_ARTICLE_CHARS],
            url=page.url,
            include_comments=False,
            with_metadata=True,
            date_extraction_params={"max_date": fetched, "original_date": True},
        )
    except Exception as error:
        raise NoValue(f"the main text cannot be found: {type(error).__name__}: {error}") from error
    if found is None or not (found.text or "").strip():
        return None
    return {
        "title": found.title or facts.h1 or facts.title,
        "description": found.description or facts.description,
        "language": facts.language,
        "author": found.author,
        "published": found.date,
        "site_name": found.sitename,
        "text": found.text.strip(),
        "truncated": len(page.document.text) > MAX_ARTICLE_CHARS,
    }


def link_records(page: "Page") -> Iterator[dict[str, Any]]:
    """Every reference of a page with its element, `rel` and anchor text, in document order; those of headers last."""
    base_url, tree = page.facts.base_url, page.document.lexbor
    tree.visits = VISITS
    for node in tree.all(tree.root, _LINKS):
        attributes = tree.attributes(node)
        reference = attributes.get("href") or attributes.get("src") or ""
        url = join(base_url, reference.strip()) if reference.strip() else None
        if url is not None:
            element, rel = tree.name(node), attributes.get("rel", "").lower() or None
            yield {"url": url, "element": element, "rel": rel, "text": _anchor_text(tree, node, attributes)}
    for link in page.facts.links:
        if link.element in ("header", "refresh"):
            url = join(base_url, link.href)
            yield {"url": url, "element": link.element, "rel": link.rel or None, "text": link.title or ""}


def _anchor_text(tree: LexborTree, node: Node, attributes: dict[str, str]) -> str:
    """What a reader would see or hear of it: its text, the alternatives of its images, else its title."""
    text = tree.text(node)
    if not text:
        alternatives = [tree.attribute(image, "alt") or "" for image in tree.all(node, "img[alt]")]
        text = " ".join(filter(None, (*alternatives, attributes.get("alt", "")))) or attributes.get("title", "")
    return text[:MAX_ANCHOR_CHARS]


def _one(read: "Callable[[Page], dict[str, Any] | None]") -> "Callable[[Page], Iterator[dict[str, Any]]]":
    def records(page: "Page") -> Iterator[dict[str, Any]]:
        found = read(page)
        if found is not None:
            yield found

    return records


BUILTINS: "dict[str, Callable[[Page], Iterator[dict[str, Any]]]]" = {
    "structured_data": _one(structured_record),
    "article": _one(article_record),
    "links": link_records,
}
