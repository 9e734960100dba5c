"""`extract`, compiled once for each version of a job: documents become records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import jmespath
import msgspec

from odradek.contracts import PageMeta
from odradek.patterns import compile_pattern
from odradek.specification import ExtractRule, FieldRule, JobSpecification
from odradek_parser.core.builtins import BUILTINS, structured_record
from odradek_parser.core.documents import Document
from odradek_parser.core.fields import FieldPlan, Here, compile_fields, read_fields
from odradek_parser.core.json_search import json_search
from odradek_parser.core.page import PageFacts
from odradek_parser.core.selectors import Engine, engine_for, selector
from odradek_parser.core.trees import VISITS, Exhausted, Node
from odradek_parser.core.values import NoValue

MAX_RECORDS = 10_000
"""Of one rule on one page; what is beyond is noted as malformed once."""


class Page(msgspec.Struct, frozen=True):
    """A page that was kept, as rules see it."""

    url: str
    document: Document
    facts: PageFacts
    meta: PageMeta


class Record(msgspec.Struct, frozen=True):
    """One record of a page; with problems it is malformed."""

    type: str
    position: int
    data: dict[str, Any]
    key: tuple[str, ...] = ()
    """Empty: URL and position identify it."""
    problems: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    """Why fields have no value, one sentence each."""


class Rule:
    """One rule of `extract`."""

    def __init__(self, rule: ExtractRule, *, visits: int = VISITS) -> None:
        self.rule = rule
        self.visits = visits
        self.type = rule.type
        self._key = rule.key
        self.match = None if rule.match is None else compile_pattern(rule.match)
        self.reads_json = rule.reads_json
        self.engine: Engine = "lexbor" if _all_fast(rule) else "beautifulsoup"
        self._plans: dict[Engine, _Plan] = {}
        if not self.reads_json:
            self._plan(self.engine)

    def silent(self, page: Page) -> str | None:
        """Why the rule says nothing about this page; None: it speaks."""
        kind = page.document.kind
        if self.match is not None and self.match.search(page.url) is None:
            return f"the URL does not match {self.rule.match}"
        if self.rule.builtin is not None:
            return None if kind == "html" else f"{self.rule.builtin} reads HTML, and this is {kind}"
        if kind == "text" or (kind == "json") != self.reads_json:
            return f"its fields read {'JSON' if self.reads_json else 'HTML or XML'}, and this is {kind}"
        return None

    def engine_for(self, page: Page) -> str:
        """The parser that reads this page for this rule; XML has one of its own."""
        return "lxml" if page.document.kind == "xml" else self.engine

    def records(self, page: Page) -> Iterator[Record]:
        """The records of a page in document order."""
        if self.silent(page) is not None:
            return
        if self.rule.builtin is not None:
            yield from self._builtin_records(BUILTINS[self.rule.builtin](page))
            return
        if self.reads_json:
            yield from self._json_records(page)
            return
        engine: Engine = "beautifulsoup" if page.document.kind == "xml" else self.engine
        plan = self._plan(engine)
        position = 0
        try:
            tree, root = page.document.root(engine)
            tree.visits = self.visits
            if plan.each is not None:
                tree.enter(root)
            nodes = [root] if plan.each is None else plan.each.all(tree, root)[:MAX_RECORDS]
            tree.expect(nodes)
            for position, node in enumerate(nodes):
                tree.enter(node)
                record = self._record(plan.fields, Here(page.document, tree, page.document.setting), node, position)
                if record is not None:
                    yield record
        except Exhausted as exhausted:
            yield Record(self.type, position, {}, problems=(str(exhausted),))

    def _builtin_records(self, found: Iterator[dict[str, Any]]) -> Iterator[Record]:
        try:
            for position, data in enumerate(islice(found, MAX_RECORDS)):
                yield Record(self.type, position, data)
        except (NoValue, Exhausted) as error:
            yield Record(self.type, 0, {}, problems=(str(error),))

    def _plan(self, engine: Engine) -> "_Plan":
        plan = self._plans.get(engine)
        if plan is None:
            each = self.rule.each
            chosen = None if each is None or self.reads_json else selector(each, engine)
            plan = self._plans[engine] = _Plan(chosen, compile_fields(self.rule.fields, engine, self.rule.locale))
        return plan

    def _json_nodes(self, page: Page) -> list[Any]:
        value = page.document.json
        if self.rule.each is not None:
            value = json_search(self.rule.each)(value)
        return value if isinstance(value, list) and self.rule.each is not None else [] if value is None else [value]

    def _json_records(self, page: Page) -> Iterator[Record]:
        plan = self._plan("lexbor")
        try:
            nodes = self._json_nodes(page)
        except (msgspec.DecodeError, RecursionError, NoValue, jmespath.exceptions.JMESPathError) as error:
            yield Record(self.type, 0, {}, problems=(f"the response is not the JSON that was expected: {error}",))
            return
        for position, node in enumerate(nodes[:MAX_RECORDS]):
            record = self._record(plan.fields, Here(page.document, None, page.document.setting), node, position)
            if record is not None:
                yield record

    def _record(self, plans: tuple[FieldPlan, ...], here: Here, node: Node, position: int) -> Record | None:
        """The record at a node; None for a page (a rule without `each`) that has nothing of it at all."""
        data = read_fields(plans, here, node)
        if self.rule.each is None and not here.found:
            return None
        problems = here.problems
        key: tuple[str, ...] = ()
        if self._key:
            values = [data.get(name) for name in self._key]
            if None in values or [] in values:
                problems += [
                    f"{name}: is part of the key and empty"
                    for name, value in zip(self._key, values, strict=True)
                    if value in (None, []) and not any(problem.startswith(f"{name}:") for problem in problems)
                ]
            key = tuple(map(str, values))
        return Record(self.type, position, data, key, tuple(problems), tuple(here.empty))


@dataclass(frozen=True, slots=True)
class _Plan:
    each: Any
    fields: tuple[FieldPlan, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """All rules of a job."""

    rules: tuple[Rule, ...] | None = None
    """None: one record of type `page` for each page."""
    plugins: tuple[Callable[[Page], Iterator[Record]], ...] = field(default=())

    def records(self, page: Page) -> Iterator[Record]:
        """The records of a page."""
        if self.rules is None:
            yield Record("page", 0, default_record(page))
        else:
            for rule in self.rules:
                yield from rule.records(page)
        for plugin in self.plugins:
            yield from plugin(page)


def compile_rules(spec: JobSpecification) -> Extraction:
    """The rules of a specification; one that passed `JobSpecification` always compiles."""
    return Extraction(None if spec.extract is None else tuple(map(Rule, spec.extract)))


def default_record(page: Page) -> dict[str, Any]:
    """What is kept of a page when the job says nothing about it."""
    facts = page.facts
    return {
        "url": page.url,
        "title": facts.title,
        "description": facts.description,
        "language": facts.language,
        "canonical": facts.canonical,
        "h1": facts.h1,
        "status": page.meta.status,
        "content_type": page.meta.content_type,
        "structured_data": structured_record(page) or {},
    }


def _all_fast(rule: ExtractRule) -> bool:
    each = [] if rule.each is None or rule.reads_json else [rule.each]
    selectors = [*_selectors(rule.fields), *each]
    return all(engine_for(css) == "lexbor" for css in selectors)


def _selectors(fields: dict[str, FieldRule]) -> Iterator[str]:
    for rule in fields.values():
        if rule.css is not None:
            yield rule.css
        yield from _selectors(rule.fields or {})
