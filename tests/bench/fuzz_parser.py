"""Fuzzes the parser for a while: `python -m tests.bench.fuzz_parser --seconds 600 --seed 1`.

HTML, feeds, sitemaps, JSON, headers and rules are made from pieces and mangled: bytes flipped, pieces repeated, nested
ten thousand deep, cut, encoded wrongly. Each case goes the whole way of a page, from bytes to encoded messages. What
counts: an exception, a case that takes longer than 10 s of CPU, memory that grows from the second half of the cases on.
It prints one JSON object and exits with 1 if anything was found; a case is made again from its seed and number.
"""

import argparse
import gzip
import json
import random
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import psutil
from pydantic import ValidationError
from tests.bench.fuzz_pieces import (
    ATTRIBUTES,
    BROKEN,
    CHARSETS,
    HEADERS,
    JMES,
    LOCALES,
    MEDIA,
    REGEXES,
    SELECTORS,
    TAGS,
    TEXTS,
    TYPES,
    VALUES,
    XML,
    XPATHS,
)
from tests.unit.parser.pages import a_job, a_meta, a_record, a_request

from odradek.contracts import encode
from odradek.errors import UserError
from odradek.specification import JobSpecification
from odradek_parser.core.facts import discovered, parse_event, parsed
from odradek_parser.core.inspection import inspect_page
from odradek_parser.core.parsing import Reader
from odradek_parser.outgoing import record_sends

SLOW_S = 10.0
URL = "https://books.example/list/"
RULE_SETS = 2_000
"""Sets of rules that the cases share, made from their number; the last 64 stay compiled."""


@dataclass
class Found:
    """What a run was like."""

    cases: int = 0
    refused_rules: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    slowest_case: int = -1
    failures: list[str] = field(default_factory=list)
    rss_mib: list[int] = field(default_factory=list)


class Maker:
    """One case from one number."""

    def __init__(self, seed: int, number: object) -> None:
        self.random = random.Random(f"{seed}-{number}")

    def html(self) -> str:
        pick, parts = self.random, list[str]()
        for _ in range(pick.randrange(1, 120)):
            kind = pick.random()
            if kind < 0.55:
                attributes = "".join(
                    f' {pick.choice(ATTRIBUTES)}="{pick.choice(VALUES)}"' for _ in range(pick.randrange(3))
                )
                parts.append(f"<{pick.choice(TAGS)}{attributes}>")
            elif kind < 0.75:
                parts.append(f"</{pick.choice(TAGS)}>")
            else:
                parts.append(pick.choice(TEXTS))
        return "".join(self._blown(parts))

    def xml(self) -> str:
        return "".join(self._blown([self.random.choice(XML) for _ in range(self.random.randrange(1, 60))]))

    def json(self, depth: int = 0) -> Any:
        pick = self.random
        kind = pick.randrange(4 if depth > 5 else 6)
        if kind == 4:
            return [self.json(depth + 1) for _ in range(pick.randrange(4))]
        if kind == 5:
            return {pick.choice(["a", "b", "x", ""]): self.json(depth + 1) for _ in range(pick.randrange(4))}
        return pick.choice(
            [pick.choice(TEXTS), pick.choice(VALUES), pick.randrange(-(10**20), 10**20), pick.random(), True, None]
        )

    def body(self, kind: str) -> bytes:
        pick = self.random
        if kind == "json":
            text = pick.choice(["", "[" * pick.choice((10, 100_000))]) + json.dumps(self.json())
        else:
            text = self.html() if kind == "html" else self.xml()
        encoding = pick.choice(["utf-8"] * 6 + ["utf-16", "gb18030", "iso-2022-jp", "windows-1251"])
        body = bytearray(text.encode(encoding, "replace"))
        for _ in range(pick.choice((0, 0, 0, 1, 20)) if body else 0):
            body[pick.randrange(len(body))] = pick.randrange(256)
        if pick.random() < 0.1:
            body = body[: pick.randrange(len(body) + 1)]
        return gzip.compress(bytes(body), 1) if pick.random() < 0.05 else bytes(body)

    def sound(self, pieces: Sequence[Any]) -> Any:
        """One of these, seldom one that a submission refuses."""
        piece = self.random.choice(pieces)
        while piece in BROKEN and self.random.random() < 0.98:
            piece = self.random.choice(pieces)
        return piece

    def rule(self, sources: dict[str, list[str]], depth: int = 0) -> dict[str, Any]:
        pick = self.random
        source = pick.choice(list(sources))
        made: dict[str, Any] = {source: self.sound(sources[source]), "type": pick.choice(TYPES)}
        options = {"many": True, "required": True, "regex": self.sound(REGEXES), "attr": "href", "default": "d"}
        made |= {name: value for name, value in options.items() if pick.random() < 0.2}
        if depth < 2 and pick.random() < 0.15:
            made["fields"] = {"n": self.rule(sources, depth + 1)}
        return made

    def rules(self) -> list[dict[str, Any]] | None:
        pick = self.random
        return None if pick.random() < 0.1 else [self._one_rule(number) for number in range(pick.randrange(1, 4))]

    def _one_rule(self, number: int) -> dict[str, Any]:
        pick, rule = self.random, dict[str, Any](type=f"t{number}")
        if pick.random() < 0.2:
            return rule | {"builtin": pick.choice(["structured_data", "links", "structured_data", "links", "article"])}
        reads_json = pick.random() < 0.25
        sources = {"json": JMES} if reads_json else {"css": SELECTORS, "xpath": XPATHS}
        rule["fields"] = {f"f{field}": self.rule(sources) for field in range(pick.randrange(1, 5))}
        if pick.random() < 0.5:
            rule["each"] = self.sound(JMES if reads_json else SELECTORS)
        if pick.random() < 0.3:
            rule["key"] = ["f0"]
        return rule | {"locale": self.sound(LOCALES)}

    def _blown(self, parts: list[str]) -> list[str]:
        pick = self.random
        if pick.random() < 0.1:
            at, times = pick.randrange(len(parts)), pick.choice((10, 200, 3000, 10_000))
            parts[at : at + 1] = [parts[at][:40]] * times
        return parts


class Readers:
    """A reader for each set of rules; a set that is refused is read without rules."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.refused = 0
        self.get = lru_cache(maxsize=64)(self._made)

    def _made(self, number: int) -> Reader:
        rules = Maker(self._seed, f"rules {number}").rules()
        try:
            spec = JobSpecification.parse({"seeds": [URL], "extract": rules})
        except (UserError, ValidationError):
            self.refused += 1
            spec = JobSpecification.parse({"seeds": [URL]})
        return Reader(spec, product="odradek")


def one(maker: Maker, reader: Reader, kind: str) -> None:
    """The whole way of a page."""
    pick = maker.random
    headers = {name: pick.choice(values) for name, values in HEADERS.items() if pick.random() < 0.1}
    request = a_request(URL, kind=pick.choice(["page", "page", "page", "sitemap"] if kind == "xml" else ["page"]))
    meta = a_meta(request=request, content_type=pick.choice(MEDIA), charset=pick.choice(CHARSETS), headers=headers)
    body, job = maker.body(kind), a_job(reader.spec)
    reading = reader.read(meta, body, frozenset())
    made = record_sends(a_record(body, meta), meta, job, reading, 1)
    for target in reading.targets:
        encode(discovered(request, target, reading.url))
    encode(parsed(meta, reading, items=made.items, malformed=made.malformed, now_ms=1))
    encode(parse_event(meta, reading, now_ms=1, items=made.items, malformed=made.malformed))
    if pick.random() < 0.1:
        json.dumps(inspect_page(reader, meta, body).to_dict(), default=str)


def fuzz(seconds: float, seed: int, first: int = 0, most: int = 10**9) -> Found:
    """Cases until the time is over."""
    found, readers, process = Found(), Readers(seed), psutil.Process()
    until, next_look = time.monotonic() + seconds, 0.0
    while time.monotonic() < until and found.cases < most:
        number = first + found.cases
        maker = Maker(seed, number)
        kind = maker.random.choice(("html", "html", "html", "xml", "json"))
        began = time.process_time()
        try:
            one(maker, readers.get(maker.random.randrange(RULE_SETS)), kind)
        except Exception as error:  # noqa: BLE001  (any is a finding)
            found.failures.append(f"case {number}: {type(error).__name__}: {str(error)[:200]}")
        took = time.process_time() - began
        found.cases += 1
        found.by_kind[kind] = found.by_kind.get(kind, 0) + 1
        if took > found.slowest_s:
            found.slowest_s, found.slowest_case = round(took, 2), number
        if took > SLOW_S:
            found.failures.append(f"case {number}: took {took:.1f} s")
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + max(1.0, seconds / 40)
            found.rss_mib.append(process.memory_info().rss // 2**20)
    found.refused_rules = readers.refused
    return found


def grew(rss_mib: list[int]) -> bool:
    """True if memory still rises in the second half: its last quarter is 10 % and 50 MiB above the one before."""
    if len(rss_mib) < 8:
        return False
    quarter = len(rss_mib) // 4
    before, last = sorted(rss_mib[-2 * quarter : -quarter]), sorted(rss_mib[-quarter:])
    return last[len(last) // 2] > 1.1 * before[len(before) // 2] + 50


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    given = parser.parse_args()
    result = fuzz(given.seconds, given.seed, given.case or 0, 1 if given.case is not None else 10**9)
    growing = grew(result.rss_mib)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    told = {**result.__dict__, "failures": result.failures[:20], "failed": len(result.failures)}
    print(json.dumps({**told, "peak_mib": peak, "grows": growing}))  # noqa: T201  (its purpose)
    sys.exit(1 if result.failures or growing else 0)
