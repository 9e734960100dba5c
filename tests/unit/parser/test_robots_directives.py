"""noindex and nofollow, wherever a site says them and whomever it means."""

import pytest

from odradek_parser.core.headers import header_directives

from .pages import a_reading, a_spec, forwarded

OURS = frozenset(("odradek", "shopbot"))


@pytest.mark.parametrize(
    ("value", "directives"),
    [
        (None, set()),
        ("noindex", {"noindex"}),
        ("noindex, nofollow", {"noindex", "nofollow"}),
        ("NoIndex,  NOFOLLOW", {"noindex", "nofollow"}),
        ("odradek: noindex", {"noindex"}),
        ("shopbot: none", {"none"}),
        ("otherbot: noindex, nofollow", set()),
        ("otherbot: noindex, odradek: nofollow", {"nofollow"}),
        ("otherbot: noindex\nnofollow", {"nofollow"}),
        ("*: noindex", {"noindex"}),
        ("max-snippet:50, noindex", {"max-snippet:50", "noindex"}),
        ("max-image-preview: large, nofollow", {"max-image-preview: large", "nofollow"}),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex",
         {"unavailable_after: friday", "25-jun-10 15:00:00 utc", "noindex"}),
    ],
)  # fmt: skip
def test_directives_of_headers_count_for_all_and_for_us(value: str | None, directives: set[str]) -> None:
    assert header_directives(value, OURS) == directives


PAGE = "<title>t</title>{head}<a href='/next'>x</a>"


@pytest.mark.parametrize(
    ("head", "header", "indexed", "followed"),
    [
        ("", None, True, True),
        ("<meta name=robots content=noindex>", None, False, True),
        ("<meta name=robots content='noindex,follow'><meta name=robots content=nofollow>", None, False, False),
        ("<meta name=ROBOTS content=NONE>", None, False, False),
        ("<meta name=odradek content=nofollow>", None, True, False),
        ("<meta name=shopbot content=noindex>", None, False, True),
        ("<meta name=googlebot content='noindex,nofollow'>", None, True, True),
        ("", "nofollow", True, False),
        ("", "googlebot: noindex\nshopbot: nofollow", True, False),
    ],
)
def test_a_page_is_indexed_and_followed_as_it_says(
    head: str,
    header: str | None,
    indexed: bool,  # noqa: FBT001  (columns of the table)
    followed: bool,  # noqa: FBT001  (columns of the table)
) -> None:
    spec = a_spec(fetch={"user_agent": "Mozilla/5.0 (compatible; ShopBot/1.0)"})
    reading = a_reading(PAGE.format(head=head), spec=spec, headers={} if header is None else {"x-robots-tag": header})
    assert (not reading.noindex, bool(reading.records), bool(forwarded(reading))) == (indexed, indexed, followed)
    assert bool(reading.robots) != (indexed and followed)


def test_a_job_that_does_not_respect_robots_obeys_no_directive() -> None:
    spec = a_spec(politeness={"respect_robots": False})
    reading = a_reading(PAGE.format(head="<meta name=robots content=none>"), spec=spec)
    assert (reading.noindex, reading.robots, len(forwarded(reading))) == (False, frozenset(), 1)
