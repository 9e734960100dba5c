"""What HTTP headers say of a page: directives for robots, and links (RFC 8288)."""

import re
from collections.abc import Container
from typing import NamedTuple

MAX_LINKS = 200
"""Of one header."""
_TARGET = re.compile(r"[\s,]*<([^>]*)>\s*")
_PARAMETER = re.compile(r";\s*([A-Za-z0-9!#$&+.^_`|~*-]*)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?\s*")
_AGENT = re.compile(r"\*|[a-z][a-z0-9_.-]*")
_VALUED = re.compile(r"unavailable_after|max-[a-z-]+")
"""Directives with a value behind a colon; all other words there are names of robots."""
_ESCAPED = re.compile(r"\\(.)")


class HeaderLink(NamedTuple):
    """One link of a `Link` header; its target is relative to the page's own URL, whatever `base` the page names."""

    target: str
    rel: str
    """Relations, lower case, separated by spaces."""
    title: str | None = None


def header_links(value: str | None) -> list[HeaderLink]:
    """The links of a `Link` header that start from this page, in its order.

    What follows something that is no link is passed over up to the next one; a link with an `anchor` starts elsewhere
    and is left out (RFC 8288 sections 3 and 3.2). Of several `rel` the first counts.
    """
    found: list[HeaderLink] = []
    text, at = value or "", 0
    while len(found) < MAX_LINKS:
        target = _TARGET.match(text, at)
        if target is None:
            at = text.find(",", at) + 1
            if at == 0:
                break
            continue
        at = target.end()
        parameters: dict[str, str] = {}
        while (parameter := _PARAMETER.match(text, at)) is not None:
            at = parameter.end()
            quoted = parameter[2]
            said = _ESCAPED.sub(r"\1", quoted) if quoted is not None else parameter[3] or ""
            parameters.setdefault(parameter[1].lower(), said)
        if "anchor" not in parameters:
            rel = " ".join(parameters.get("rel", "").lower().split())
            found.append(HeaderLink(target[1].strip(), rel, parameters.get("title")))
    return found


def header_directives(value: str | None, products: Container[str]) -> frozenset[str]:
    """Directives of X-Robots-Tag headers, one a line, that are meant for all robots or for us, lower case.

    A directive after `otherbot:` is meant for that robot, up to the next name or the end of the line.
    """
    directives: set[str] = set()
    for line in (value or "").lower().splitlines():
        ours = True
        for part in line.split(","):
            name, colon, rest = part.partition(":")
            if colon and _AGENT.fullmatch(name.strip()) and not _VALUED.fullmatch(name.strip()):
                ours = name.strip() == "*" or name.strip() in products
                part = rest  # noqa: PLW2901  (what is left of it)
            if ours and part.strip():
                directives.add(part.strip())
    return frozenset(directives)
