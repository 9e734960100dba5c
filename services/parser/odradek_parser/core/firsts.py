"""The first match of a selector below each of many elements, found in one walk over the page for all of them."""

import re
from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborNode

_COMPOUND: Final = re.compile(
    r"(?=.)(?:[a-z][a-z0-9]*)?(?:[.#][A-Za-z_][\w-]*|\[[A-Za-z][\w-]*(?:[~|^$*]?=\"[^\"\\]*\")?\])*", re.ASCII
)
TAGS_A_WALK: Final = 200
"""As many tags of a page are passed in the time that a selector takes below one element."""

Number = int
"""Of an element (`mem_id`)."""


def is_plain(css: str) -> bool:
    """True if what the selector matches depends on the element alone: one compound without pseudo-classes."""
    return _COMPOUND.fullmatch(css) is not None


class Firsts:
    """What lies first below each of these elements, by selector. The page must not change meanwhile."""

    def __init__(self, root: LexborNode, nodes: Sequence[LexborNode]) -> None:
        self._root = root
        self._nodes = {node.mem_id: node for node in nodes}
        self._owners: dict[Number, Number | None] = {}
        self._found: dict[str, dict[Number, LexborNode | None]] = {}

    def of(self, css: str) -> dict[Number, LexborNode | None]:
        """By element, the first match of a plain selector below it in document order, None where there is none.

        As matches come in that order, what lies around an element that has its first one has one as well.
        """
        known = self._found.get(css)
        if known is not None:
            return known
        found: dict[Number, LexborNode | None] = dict.fromkeys(self._nodes)
        for match in self._root.css(css):
            owner = self._owner(match)
            while owner is not None and found[owner] is None:
                found[owner] = match
                owner = self._owner(self._nodes[owner])
        self._found[css] = found
        return found

    def _owner(self, node: LexborNode) -> Number | None:
        """The innermost of the elements that the node lies in; each step upwards is made once for all nodes."""
        passed: list[Number] = []
        owner: Number | None = None
        above = node.parent
        while above is not None:
            number = above.mem_id
            if number in self._nodes:
                owner = number
                break
            if number in self._owners:
                owner = self._owners[number]
                break
            passed.append(number)
            above = above.parent
        for number in passed:
            self._owners[number] = owner
        return owner
