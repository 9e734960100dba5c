"""Links of real pages are those that an independent implementation finds: lxml's parser (libxml2) and urllib's joining.

The pages are the HTML documentation that is installed on the machine: on Debian that of python3-doc, debian-handbook,
apache2-doc, aptitude-doc-*, debian-faq, debian-reference-*, xfig-doc, namazu2 and others, in two dozen languages and in
UTF-8, windows-1252, EUC-KR, EUC-JP and Big5. By default 60 of them, spread evenly; `REAL_PAGES=600` takes
more, `REAL_PAGES=100000` all.
Where fewer than 60 are installed the test says so and is skipped.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from lxml import html as lxml_html
from tests.unit.parser.pages import a_meta, a_spec

from odradek.urls import CrawlUrl, UrlRules, identify, join
from odradek_parser.core.charset import decoded
from odradek_parser.core.page import PageFacts, read_page
from odradek_parser.core.parsing import Reader
from odradek_parser.core.trees import LexborTree

DOCUMENTATION = Path("/usr/share/doc")
MOST = int(os.environ.get("REAL_PAGES", "60"))
FEWEST = 60
LINKS = (("a", "href"), ("area", "href"), ("iframe", "src"), ("frame", "src"))
RELATIONS = {"next", "prev", "canonical", "alternate"}
Links = Counter[str]


def pages() -> list[Path]:
    if not DOCUMENTATION.exists():
        return []
    found = {path.resolve() for path in DOCUMENTATION.rglob("*.htm*") if path.is_file() and path.suffix != ".gz"}
    every = sorted(path for path in found if 0 < path.stat().st_size < 2_000_000)
    return every[:: max(1, len(every) // MOST)][:MOST]


def address(path: Path) -> str:
    return f"https://doc.example{path}".replace("#", "%23")


def key(url: str) -> str:
    found = identify(url, UrlRules(drop_query_parameters=(), sort_query=False))
    return found.canonical if isinstance(found, CrawlUrl) else "refused"


def comparable(href: str) -> bool:
    """Not where the standard and urllib differ: urllib takes one slash out of a relative `https//x`."""
    return bool(href) and href[0] != "#" and "//" not in href.removeprefix("//").replace("://", "", 1)


def ours(body: bytes, url: str) -> Links:
    facts: PageFacts = read_page(LexborTree(decoded(body).text), url)
    hrefs = [link.href.strip() for link in facts.links if link.element != "refresh"]
    return Counter(key(join(facts.base_url, href) or "malformed:") for href in hrefs if comparable(href))


def theirs(body: bytes, url: str) -> Links:
    """libxml2 decodes and parses, urllib joins."""
    tree = lxml_html.document_fromstring(body)
    base = next((urljoin(url, each.get("href")) for each in tree.iter("base") if each.get("href")), url)
    return Counter(key(urljoin(base, href)) for href in references(tree) if comparable(href))


def references(tree: "lxml_html.HtmlElement") -> Iterator[str]:
    for name, attribute in LINKS:
        yield from ((each.get(attribute) or "").strip() for each in tree.iter(name))
    for each in tree.iter("link"):
        relations = set((each.get("rel") or "").lower().split())
        if relations & RELATIONS and "stylesheet" not in relations:
            yield (each.get("href") or "").strip()


def test_links_of_real_pages_are_those_of_an_independent_implementation() -> None:
    corpus = pages()
    if len(corpus) < FEWEST:
        pytest.skip(f"{len(corpus)} HTML files below {DOCUMENTATION}, fewer than {FEWEST}: install some -doc packages")
    encodings, links = Counter[str](), 0
    differing: list[str] = []
    for path in corpus:
        body, url = path.read_bytes(), address(path)
        encodings[decoded(body).encoding] += 1
        mine, other = ours(body, url), theirs(body, url)
        links += mine.total()
        if mine != other:
            differing.append(f"{path}: only here {dict(mine - other)}, only there {dict(other - mine)}")
    print(f"{len(corpus)} pages, {links} links, {dict(encodings)}, {len(differing)} differ")  # noqa: T201  (figures to read)
    assert differing == []


def test_real_pages_are_read_whole_without_complaint() -> None:
    reader = Reader(a_spec(), product="odradek")
    for path in pages():
        reading = reader.read(a_meta(address(path), content_type="text/html"), path.read_bytes(), frozenset())
        assert len(reading.records) == (0 if reading.noindex else 1), path
