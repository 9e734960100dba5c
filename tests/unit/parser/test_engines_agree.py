"""lexbor and BeautifulSoup over html5lib, an independent parser, give the same answers to every selector for lexbor.

So does BeautifulSoup over lexbor's own tree, which reads the selectors that lexbor lacks.

Left out is where lexbor follows the HTML standard of today and html5lib an older one: what a `select` may contain, and
the content of a `template`, which is no part of the page.
"""

import os
from functools import lru_cache
from typing import Any

from bs4 import BeautifulSoup, Comment
from bs4.element import Doctype
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odradek_parser.core.selectors import engine_for, selector
from odradek_parser.core.soup import SoupTree, soup_of
from odradek_parser.core.trees import LexborTree, Tree

EXAMPLES = int(os.environ.get("ODRADEK_TEST_EXAMPLES", "60"))
TAGS = ("div", "p", "a", "b", "i", "ul", "li", "table", "tr", "td", "h3", "span", "article", "br", "script",
        "form", "svg", "title", "em", "pre", "input")  # fmt: skip
CLASSES = ("x", "y", "price")

text = st.sampled_from(("", " ", "one", "zwei\u00a0drei", "a &amp; b", "<!-- c -->", "&lt;", "\n\t", "\u3042"))
attributes = st.lists(
    st.sampled_from(
        ('class="x"', 'class="x y"', 'class="price"', 'id="n"', "href=/a", "checked", "disabled", 'title="<"')
    ),
    max_size=2,
    unique_by=lambda each: each.partition("=")[0],
).map(" ".join)
leaf = st.builds(lambda tag, attrs, inner: f"<{tag} {attrs}>{inner}</{tag}>", st.sampled_from(TAGS), attributes, text)
soup = st.recursive(
    leaf | text,
    lambda inner: st.builds(
        lambda tag, attrs, parts, closed: f"<{tag} {attrs}>{''.join(parts)}{f'</{tag}>' if closed else ''}",
        st.sampled_from(TAGS), attributes, st.lists(inner, max_size=4), st.booleans(),
    ),
    max_leaves=15,
)  # fmt: skip
page = soup.map(lambda body: f"<title>t</title><body>{body}")

compound = st.builds(
    lambda tag, rest: tag + rest or "*",
    st.sampled_from(("", *TAGS[:13])),
    st.sampled_from((
        "", ".x", ".x.y", "#n", "[href]", "[class~=y]", '[href^="/"]', '[title="<"]', ":first-child", ":last-of-type",
        ":nth-child(2n+1)", ":nth-last-child(2)", ":only-child", ":not(.x)", ":not(b, i)", ":is(p, .y)",
        ":has(> b)", ":has(a, .x)", ":checked", ":disabled", ":nth-child(1 of .x)", ":where(.y)",
    )),
)  # fmt: skip
complex_ = st.builds(
    lambda first, more: first + "".join(combinator + each for combinator, each in more),
    compound,
    st.lists(st.tuples(st.sampled_from((" ", " > ", " + ", " ~ ")), compound), max_size=2),
)
css = st.lists(complex_.map("body {}".format), min_size=1, max_size=2).map(", ".join)
"""Below the body: whether the root, which has no parent, is a first or only child, the two see differently."""


@lru_cache(maxsize=200)
def both(html: str) -> tuple[LexborTree, SoupTree]:
    return LexborTree(html), SoupTree(BeautifulSoup(html, "html5lib", multi_valued_attributes=None))


def described(tree: Tree, nodes: list[Any]) -> list[tuple[str, dict[str, str], str]]:
    return [(tree.name(node), tree.attributes(node), tree.text(node)) for node in nodes]


@settings(max_examples=EXAMPLES, deadline=None)
@given(page, css)
def test_a_selector_of_the_fast_engine_finds_the_same_elements_with_the_same_text(html: str, query: str) -> None:
    if engine_for(query) != "lexbor":
        return
    fast, reference = both(html)

    found = selector(query, "lexbor").all(fast, fast.root)

    assert described(fast, found) == described(
        reference, selector(query, "beautifulsoup").all(reference, reference.root)
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(page, st.sampled_from(TAGS), st.builds("{}{}".format, st.sampled_from(("", "& > ")), compound))
def test_below_an_element_both_engines_find_the_same_and_never_the_element_itself(
    html: str, each: str, query: str
) -> None:
    if engine_for(query) != "lexbor":
        return
    fast, reference = both(html)
    every, inner = selector(each, "lexbor"), selector(query, "lexbor")
    slow_every, slow_inner = selector(each, "beautifulsoup"), selector(query, "beautifulsoup")

    found = [described(fast, inner.all(fast, node)) for node in every.all(fast, fast.root)]
    firsts = [inner.first(fast, node) is not None for node in every.all(fast, fast.root)]

    expected = [
        described(reference, slow_inner.all(reference, node)) for node in slow_every.all(reference, reference.root)
    ]
    assert found == expected
    assert firsts == [bool(each_found) for each_found in expected]


@settings(max_examples=EXAMPLES, deadline=None)
@given(page)
@example("<svg><title><div></div>")
@example("<math><mi><b>x</b></mi><mtext><i>y</i>")
def test_the_copy_for_beautifulsoup_is_the_tree_that_html5lib_builds(html: str) -> None:
    fast, reference = both(html)

    copy = soup_of(fast)

    assert outline(copy) == outline(reference.soup)


def outline(soup: BeautifulSoup) -> list[Any]:
    """Every element and text with its links to its neighbours; of comments only that they are there."""
    places = {id(node): place for place, node in enumerate(soup.descendants)}
    return [
        (
            node.name or isinstance(node, Comment) or str(node),
            getattr(node, "namespace", None),
            getattr(node, "attrs", None),
            *(places.get(id(each)) for each in (
                node.parent, node.next_element, node.previous_element, node.next_sibling, node.previous_sibling)),
        )
        for node in soup.descendants if not isinstance(node, Doctype)
    ]  # fmt: skip
