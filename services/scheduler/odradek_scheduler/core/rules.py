"""The rules in one robots.txt, RFC 9309: protego decides on paths, this file on groups and on what a line is.

protego takes a group for ours when its name is the beginning of our product token (`odra` for `odradek`), and lets a
line it does not know end a list of `User-agent` lines. The standard asks for equal tokens (section 2.2.1) and for
unknown lines to change nothing (section 2.2.4), so names are compared here and such lines are left out.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Final

from protego import Protego

MOST_BYTES: Final = 500 * 1024
"""RFC 9309 section 2.5: what has to be read at least, and is read at most."""
_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
_OTHER_BREAKS: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NAMING: Final = re.compile(r"(user[ -]?agent)(?:\s*:\s*|\s+)(.*)", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[\w.-]+")
_KNOWN: Final = re.compile(r"(user|allow|dis|dia|site|crawl|request|visit|host)", re.IGNORECASE)
_URLS: Final = re.compile(r"\+?https?://\S*")
_PRODUCTS: Final = re.compile(r"(?<![\w./-])[A-Za-z_][\w.-]*")
_NAMED: Final = "User-agent: "
"""How each line that names a group begins, once read."""
_EVERYBODY: Final = "*"
"""The name of the group for agents that none names."""
_OTHERS: Final = f"{_NAMED}\1"
"""All groups that are not asked for."""
_EVERYBODYS: Final = frozenset(("mozilla", "compatible"))
"""In the header of nearly every agent, so that they name none."""


class Rules:
    """One robots.txt, parsed for each name that it is asked for.

    All other groups count as one: a rule that stands under ten thousand names would be kept ten thousand times.
    """

    def __init__(self, text: str) -> None:
        self.characters = len(text)
        self._lines, self._names = _lines(text)
        self._parsed: dict[str, Protego] = {}

    def allows(self, url: str, agents: Iterable[str]) -> bool:
        """True if every one of the agents may fetch the URL."""
        return all(self._group(name).can_fetch(url, name) for agent in agents for name in self._groups(agent))

    def crawl_delay_s(self, agents: Iterable[str]) -> float:
        """The longest delay that it asks one of the agents for; 0: none."""
        return max(
            (self._group(name).crawl_delay(name) or 0.0 for agent in agents for name in self._groups(agent)),
            default=0.0,
        )

    @cached_property
    def sitemaps(self) -> tuple[str, ...]:
        """Values of its `Sitemap` lines, whatever group they stand in."""
        return tuple(self._group(_EVERYBODY).sitemaps)

    def names_one_of(self, agents: Iterable[str]) -> bool:
        """True if a group names one of the agents, so that `*` does not apply to it."""
        return any(product_tokens(agent) & self._names for agent in agents)

    def _groups(self, agent: str) -> Iterable[str]:
        """Names of the groups that apply: all that name the agent, and only when none does, `*`."""
        return sorted(product_tokens(agent) & self._names) or (_EVERYBODY,)

    def _group(self, name: str) -> Protego:
        found = self._parsed.get(name)
        if found is None:
            named = f"{_NAMED}{name}"
            lines = (_OTHERS if line.startswith(_NAMED) and line != named else line for line in self._lines)
            found = self._parsed[name] = Protego.parse("\n".join(lines))
        return found


@lru_cache(maxsize=1000)
def product_tokens(agent: str) -> frozenset[str]:
    """Names by which a group may mean an agent: its product token, or those in a whole User-Agent header."""
    found = frozenset(token.lower().rstrip(".-") for token in _PRODUCTS.findall(_URLS.sub(" ", agent)))
    return found - _EVERYBODYS or found


def named_by(line: str) -> str | None:
    """Whom a line says that rules are for: a name in lower case, or `*`; None when it does not name anybody."""
    naming = _NAMING.match(line)
    if naming is None:
        return None
    name = _TOKEN.match(naming[2])
    return name[0].lower() if name else naming[2]


def _lines(text: str) -> tuple[list[str], frozenset[str]]:
    """The lines that mean something, one to one by number, and the names of all groups but `*`."""
    lines: list[str] = []
    names: set[str] = set()
    cut = text.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore").removeprefix("\ufeff")
    for raw in _LINE_ENDS.split(cut):
        line = _OTHER_BREAKS.sub(" ", raw).partition("#")[0].strip()
        naming = _NAMING.match(line)
        if naming is not None:
            name = _TOKEN.match(naming[2])
            line = f"{_NAMED}{name[0].lower() if name else naming[2]}"
            names.update((name[0].lower(),) if name else ())
        lines.append(line if _KNOWN.match(line) else "")
    return lines, frozenset(names)
